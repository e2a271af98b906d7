// Prints llama.cpp's results for texts with GGUF files: node llama_cpp.mjs '[["a.gguf", ["text", ...]], ...]' prints a line
// of JSON per text with its tokens and the twelve likeliest next ones. If the third item of a file is true, special tokens
// are recognized in the texts and nothing is continued. compare_llama_cpp.py and compare_gguf_entries.py run it in the
// folder with the package node-llama-cpp.
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const found = createRequire(`${process.cwd()}/`).resolve("node-llama-cpp");
const {getLlama} = await import(pathToFileURL(found).href);
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: "error"});
for (const [file, texts, special = false] of JSON.parse(process.argv[2])) {
  const model = await llama.loadModel({modelPath: file, gpuLayers: 0});
  for (const text of texts) {
    const context = await model.createContext({
      contextSize: 128, threads: 1, experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32"});
    const front = model.tokens.shouldPrependBosToken ? [model.tokens.bos] : [];
    const behind = model.tokens.shouldAppendEosToken ? [model.tokens.eos] : [];
    const ids = [...front, ...model.tokenize(text, special), ...behind];
    const next = [];
    if (ids.length > 0 && !special)
      for await (const token of context.getSequence().evaluate(ids, {temperature: 0, yieldEogToken: true})) {
        next.push(token);
        if (next.length === 12) break;
      }
    console.log(JSON.stringify({ids, next}));
    await context.dispose();
  }
  await model.dispose();
}
process.exit(0);
