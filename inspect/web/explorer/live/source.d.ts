// The worker's script, bundled by build.mjs.
declare module "live:worker" {
  const source: string;
  export default source;
}
