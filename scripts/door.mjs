// Puts the small entry into the site under names with digests, compressed ahead, and writes those names down
// in the form that the pages' script reads.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [work, pkg, hashes] = process.argv.slice(2);
mkdirSync(pkg, { recursive: true });
for (const name of readdirSync(pkg)) {
  if (/^door\.[\w-]+\.(js|wasm)(\.br|\.gz)?$/.test(name)) rmSync(join(pkg, name));
}
const lines = [];
for (const kind of ["js", "wasm"]) {
  const bytes = readFileSync(join(work, `door.${kind}`));
  const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
  const name = join(pkg, `door.${hash}.${kind}`);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  const brotli = brotliCompressSync(bytes, quality);
  writeFileSync(name, bytes);
  writeFileSync(`${name}.br`, brotli);
  writeFileSync(`${name}.gz`, gzipSync(bytes, { level: 9 }));
  lines.push(`${kind}: ${hash}`);
  console.log(`door.${kind}: ${bytes.length} bytes, ${brotli.length} with brotli`);
}
writeFileSync(hashes, `${lines.join("\n")}\n`);
