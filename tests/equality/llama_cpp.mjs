// What llama.cpp makes of texts with GGUF files: node llama_cpp.mjs '[["a.gguf", ["text", ...]], ...]' prints a line of JSON
// per text: its tokens and the twelve likeliest that follow. With true as a third item of a file, special tokens are found in
// the texts and nothing is continued. compare_llama_cpp.py and compare_gguf_entries.py call it where the package
// node-llama-cpp is.
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
