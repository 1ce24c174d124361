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

const here = dirname(fileURLToPath(import.meta.url));
const outdir = argv[2] ?? join(here, "..", "static");

async function digestOfSources() {
  const names = (await readdir(here)).filter((name) => /\.(js|css)$/.test(name)).sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\n`).update(await readFile(join(here, name))).update("\n");
  return hash.digest("hex").slice(0, 16);
}

const minifiedCss = {
  name: "minified-css-as-text",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await esbuild.transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

await esbuild.build({
  absWorkingDir: here,
  entryPoints: ["graph_view.js", "shared_view.js"],
  outdir,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/* built from tutorlib/viz/js by build.mjs; sources ${await digestOfSources()} */` },
  plugins: [minifiedCss],
});
