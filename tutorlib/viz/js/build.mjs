// Bundles each widget into one ES module in ../static/. Run `npm install && npm run build` here after every change.
//
// The built files are committed, so a learner needs no JavaScript tools. Each starts with a digest of its sources,
// by which a test without any tool can tell that a build is stale.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { minify as terser } from "terser";
import { pack } from "./css_pack.js";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = argv[2] ?? join(here, "..", "static");

async function digestOfSources() {
  const names = (await readdir(here)).filter((name) => /\.(js|css)$/.test(name)).sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\n`).update(await readFile(join(here, name))).update("\n");
  return hash.digest("hex").slice(0, 16);
}

// A style sheet becomes a module that exports it as text; `@import` works.
const packedCss = {
  name: "packed-css-as-text",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const built = await esbuild.build({ entryPoints: [path], bundle: true, minify: true, write: false, charset: "utf8" });
      const [packed, signs] = pack(built.outputFiles[0].text.trim()).map((text) => JSON.stringify(text));
      return { contents: `import { unpack } from "./css_pack.js";\nexport default unpack(${packed}, ${signs});`, resolveDir: here };
    });
  },
};

// Properties of our own objects that may get short names. None is a key of the data, a trait, an attribute given to
// `h` or `s`, or a name of the DOM.
const OWN = `root stop viewport position events producers consumers gradients ranks phases places members
  setStep setSelected setFound setHeight boxOf addView reveal centre zoom nextSpeed playing pending flush echo quiet
  pressed fold show item head isOpen backKey forwardKey closed visit seek room bend
  asked again look open say order leave found prefix shell sync ask boxes place hatch digits seen moved hold follow tell hear`.split(/\s+/);

const banner = `/* built from tutorlib/viz/js by build.mjs; sources ${await digestOfSources()} */`;
const { outputFiles } = await esbuild.build({
  absWorkingDir: here,
  mangleProps: new RegExp(`^(${OWN.join("|")})$`),
  entryPoints: ["compare_view.js", "gradient_view.js", "graph_view.js", "shared_view.js"],
  outdir,
  write: false,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  plugins: [packedCss],
});
// esbuild bundles; terser finds some more to leave out.
await mkdir(outdir, { recursive: true });
for (const { path, text } of outputFiles) {
  const { code } = await terser(text, { module: true, ecma: 2020, compress: { passes: 4, unsafe: true, unsafe_arrows: true, unsafe_methods: true, pure_getters: true }, mangle: true });
  await writeFile(path, `${banner}\n${code}\n`);
}
