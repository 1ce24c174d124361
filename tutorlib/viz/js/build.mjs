// Bundles each widget into one ES module in ../static/. Run `npm install && npm run build` here after every change.
//
// The built files are committed, so a learner needs no JavaScript tools. Each starts with a digest of its sources,
// by which a test without any tool can tell that a build is stale.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
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

await esbuild.build({
  absWorkingDir: here,
  entryPoints: ["compare_view.js", "gradient_view.js", "graph_view.js", "shared_view.js"],
  outdir,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/* built from tutorlib/viz/js by build.mjs; sources ${await digestOfSources()} */` },
  plugins: [packedCss],
});
