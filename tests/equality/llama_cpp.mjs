// What llama.cpp says of GGUF files: node llama_cpp.mjs '[["a.gguf", ["text", ...]], ...]' prints a line of JSON a text:
// its tokens and the twelve likeliest that follow. compare_llama_cpp.py calls it where the package node-llama-cpp is.
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const found = createRequire(`${process.cwd()}/`).resolve("node-llama-cpp");
const {getLlama} = await import(pathToFileURL(found).href);
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: "error"});
for (const [file, texts] of JSON.parse(process.argv[2])) {
  const model = await llama.loadModel({modelPath: file, gpuLayers: 0});
  for (const text of texts) {
    const context = await model.createContext({
      contextSize: 128, threads: 1, experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32"});
    const front = model.tokens.shouldPrependBosToken ? [model.tokens.bos] : [];
    const ids = [...front, ...model.tokenize(text, false)];
    const next = [];
    if (ids.length > 0)
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
