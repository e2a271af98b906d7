// The part of WASI that the engine needs: clocks, random bytes, messages, and read-only files from a map.
// Numbers and layouts: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md

export const Errno = {
  success: 0,
  badf: 8, // not an open file
  inval: 28,
  isdir: 31,
  noent: 44, // no such file
  nosys: 52, // no such function
  notdir: 54,
  rofs: 69, // read-only
  spipe: 70, // no position in a stream
} as const;
export type Errno = (typeof Errno)[keyof typeof Errno];

const FileType = { characterDevice: 2, directory: 3, regularFile: 4 } as const;
const root = 3; // the descriptor of "/", which libc finds by fd_prestat_get
const createFlags = 0b1101; // create, exclusive, truncate
const directoryFlag = 0b10;

interface Opened {
  data: Uint8Array | null; // null: a directory
  path: string;
  at: number;
}

// Thrown when the program ends itself, since nothing may run afterwards.
export class Exit extends Error {}

export class Wasi {
  private memory: WebAssembly.Memory | null = null;
  private readonly opened = new Map<number, Opened>([[root, { data: null, path: "", at: 0 }]]);
  private next = root + 1;
  private readonly decoder = new TextDecoder();
  private readonly encoder = new TextEncoder();

  // files: by absolute path without the first slash, "model/config.json".
  constructor(
    private readonly files: Map<string, Uint8Array>,
    private readonly print: (text: string) => void,
  ) {}

  // Functions for a module's imports; those that are not implemented answer Errno.nosys.
  imports(module: WebAssembly.Module): WebAssembly.Imports {
    const known = this.functions as Record<string, (...words: never[]) => unknown>;
    const all: WebAssembly.Imports = {};
    for (const { module: space, name, kind } of WebAssembly.Module.imports(module))
      if (kind === "function") (all[space] ??= {})[name] = known[name] ?? (() => Errno.nosys);
    return all;
  }

  // Call before the module's first function.
  attach(memory: WebAssembly.Memory) {
    this.memory = memory;
  }

  // Views of the memory, made again for each call because they end when the memory grows.
  private view(): DataView {
    return new DataView(this.memory!.buffer);
  }
  private bytes(): Uint8Array {
    return new Uint8Array(this.memory!.buffer);
  }

  private text(pointer: number, length: number): string {
    return this.decoder.decode(this.bytes().slice(pointer, pointer + length));
  }

  // A path relative to an open directory, without "." and slashes at the ends.
  private path(directory: number, pointer: number, length: number): string | null {
    const base = this.opened.get(directory);
    if (base?.data !== null) return null;
    const parts = `${base.path}/${this.text(pointer, length)}`.split("/");
    return parts.filter((part) => part !== "" && part !== ".").join("/");
  }

  private isDirectory(path: string): boolean {
    return path === "" || [...this.files.keys()].some((name) => name.startsWith(`${path}/`));
  }

  // Names in a directory, each once.
  private entries(path: string): string[] {
    const inside = path === "" ? "" : `${path}/`;
    const names = [...this.files.keys()].filter((name) => name.startsWith(inside));
    return [...new Set(names.map((name) => name.slice(inside.length).split("/")[0]!))];
  }

  private *buffers(pointer: number, count: number): Generator<Uint8Array> {
    for (let i = 0; i < count; ++i) {
      const [start, length] = [8 * i, 8 * i + 4].map((at) => this.view().getUint32(pointer + at, true));
      yield this.bytes().subarray(start, start! + length!);
    }
  }

  private status(to: number, type: number, size: number): Errno {
    this.bytes().fill(0, to, to + 64);
    this.view().setUint8(to + 16, type);
    this.view().setBigUint64(to + 24, 1n, true); // links
    this.view().setBigUint64(to + 32, BigInt(size), true);
    return Errno.success;
  }

  // Copies from a file's position into buffers; returns how many bytes.
  private scatter(data: Uint8Array, at: number, pointer: number, count: number): number {
    let read = 0;
    for (const buffer of this.buffers(pointer, count)) {
      const part = data.subarray(at + read, at + read + buffer.length);
      buffer.set(part);
      read += part.length;
    }
    return read;
  }

  private typeOf(fd: number): number | null {
    if (fd >= 0 && fd < root) return FileType.characterDevice;
    const file = this.opened.get(fd);
    return file ? (file.data ? FileType.regularFile : FileType.directory) : null;
  }

  get functions() {
    const noStrings = (count: number, size: number): Errno => {
      this.view().setUint32(count, 0, true);
      this.view().setUint32(size, 0, true);
      return Errno.success;
    };
    const readOnly = (): Errno => Errno.rofs;
    return {
      args_sizes_get: noStrings,
      args_get: (): Errno => Errno.success,
      environ_sizes_get: noStrings,
      environ_get: (): Errno => Errno.success,
      clock_res_get: (_clock: number, to: number): Errno => {
        this.view().setBigUint64(to, 1000n, true);
        return Errno.success;
      },
      clock_time_get: (clock: number, _precision: bigint, to: number): Errno => {
        const milliseconds = clock === 0 ? Date.now() : performance.now();
        this.view().setBigUint64(to, BigInt(Math.round(milliseconds * 1e6)), true);
        return Errno.success;
      },
      random_get: (pointer: number, length: number): Errno => {
        const most = 65536; // per call of getRandomValues
        for (let at = 0; at < length; at += most)
          this.bytes().set(crypto.getRandomValues(new Uint8Array(Math.min(most, length - at))), pointer + at);
        return Errno.success;
      },
      sched_yield: (): Errno => Errno.success,
      proc_exit: (code: number): never => {
        throw new Exit(`it ended itself with code ${code}`);
      },
      fd_prestat_get: (fd: number, to: number): Errno => {
        if (fd !== root) return Errno.badf;
        this.view().setUint32(to, 0, true); // a directory
        this.view().setUint32(to + 4, 1, true); // length of "/"
        return Errno.success;
      },
      fd_prestat_dir_name: (fd: number, to: number): Errno => {
        if (fd !== root) return Errno.badf;
        this.bytes().set(this.encoder.encode("/"), to);
        return Errno.success;
      },
      fd_fdstat_get: (fd: number, to: number): Errno => {
        const type = this.typeOf(fd);
        if (type === null) return Errno.badf;
        this.bytes().fill(0, to, to + 24);
        this.view().setUint8(to, type);
        for (const rights of [8, 16]) this.view().setBigUint64(to + rights, 0x1fffffffn, true);
        return Errno.success;
      },
      fd_fdstat_set_flags: (fd: number): Errno => (this.typeOf(fd) === null ? Errno.badf : Errno.success),
      fd_filestat_get: (fd: number, to: number): Errno => {
        const type = this.typeOf(fd);
        return type === null ? Errno.badf : this.status(to, type, this.opened.get(fd)?.data?.length ?? 0);
      },
      path_filestat_get: (fd: number, _flags: number, pointer: number, length: number, to: number): Errno => {
        const path = this.path(fd, pointer, length);
        if (path === null) return Errno.badf;
        const file = this.files.get(path);
        if (file) return this.status(to, FileType.regularFile, file.length);
        return this.isDirectory(path) ? this.status(to, FileType.directory, 0) : Errno.noent;
      },
      path_open: (
        directory: number,
        _lookup: number,
        pointer: number,
        length: number,
        flags: number,
        _rights: bigint,
        _inherited: bigint,
        _fdFlags: number,
        to: number,
      ): Errno => {
        const path = this.path(directory, pointer, length);
        if (path === null) return Errno.badf;
        if (flags & createFlags) return Errno.rofs;
        const data = this.files.get(path) ?? null;
        if (!data && !this.isDirectory(path)) return Errno.noent;
        if (data && flags & directoryFlag) return Errno.notdir;
        this.opened.set(this.next, { data, path, at: 0 });
        this.view().setUint32(to, this.next++, true);
        return Errno.success;
      },
      fd_close: (fd: number): Errno => (this.opened.delete(fd) || fd < root ? Errno.success : Errno.badf),
      fd_read: (fd: number, pointer: number, count: number, to: number): Errno => {
        const file = this.opened.get(fd);
        if (!file) return Errno.badf;
        if (!file.data) return Errno.isdir;
        const read = this.scatter(file.data, file.at, pointer, count);
        file.at += read;
        this.view().setUint32(to, read, true);
        return Errno.success;
      },
      fd_pread: (fd: number, pointer: number, count: number, at: bigint, to: number): Errno => {
        const file = this.opened.get(fd);
        if (!file) return Errno.badf;
        if (!file.data) return Errno.isdir;
        this.view().setUint32(to, this.scatter(file.data, Number(at), pointer, count), true);
        return Errno.success;
      },
      fd_seek: (fd: number, offset: bigint, whence: number, to: number): Errno => {
        const file = this.opened.get(fd);
        if (!file?.data) return this.typeOf(fd) === null ? Errno.badf : Errno.spipe;
        const from = [0, file.at, file.data.length][whence];
        const at = (from ?? NaN) + Number(offset);
        if (!(at >= 0)) return Errno.inval;
        file.at = at;
        this.view().setBigUint64(to, BigInt(at), true);
        return Errno.success;
      },
      fd_tell: (fd: number, to: number): Errno => {
        const file = this.opened.get(fd);
        if (!file?.data) return this.typeOf(fd) === null ? Errno.badf : Errno.spipe;
        this.view().setBigUint64(to, BigInt(file.at), true);
        return Errno.success;
      },
      fd_readdir: (fd: number, pointer: number, length: number, cookie: bigint, to: number): Errno => {
        const directory = this.opened.get(fd);
        if (!directory) return Errno.badf;
        if (directory.data) return Errno.notdir;
        let used = 0;
        const names = this.entries(directory.path);
        for (let index = Number(cookie); index < names.length && used < length; ++index) {
          const name = this.encoder.encode(names[index]);
          const inner = directory.path === "" ? names[index]! : `${directory.path}/${names[index]!}`;
          const entry = new Uint8Array(24 + name.length);
          const fields = new DataView(entry.buffer);
          fields.setBigUint64(0, BigInt(index + 1), true);
          fields.setUint32(16, name.length, true);
          fields.setUint8(20, this.files.has(inner) ? FileType.regularFile : FileType.directory);
          entry.set(name, 24);
          const part = entry.subarray(0, length - used); // libc asks again for an entry that was cut
          this.bytes().set(part, pointer + used);
          used += part.length;
        }
        this.view().setUint32(to, used, true);
        return Errno.success;
      },
      fd_write: (fd: number, pointer: number, count: number, to: number): Errno => {
        if (fd !== 1 && fd !== 2) return this.typeOf(fd) === null ? Errno.badf : Errno.rofs;
        const parts = [...this.buffers(pointer, count)].map((part) => part.slice());
        this.print(parts.map((part) => this.decoder.decode(part)).join(""));
        this.view().setUint32(
          to,
          parts.reduce((sum, part) => sum + part.length, 0),
          true,
        );
        return Errno.success;
      },
      path_create_directory: readOnly,
      path_remove_directory: readOnly,
      path_unlink_file: readOnly,
      path_rename: readOnly,
      path_symlink: readOnly,
      path_link: readOnly,
      path_readlink: (): Errno => Errno.inval, // no links here
      fd_pwrite: readOnly,
      fd_sync: (): Errno => Errno.success,
    };
  }
}
