// This module puts several files into one archive without packing them. The files of a list's
// publication are sent in this form.

const table = Uint32Array.from({length: 256}, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xEDB88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

/** checksum is the CRC-32 of a file, read piece by piece. */
async function checksum(file) {
  let c = 0xFFFFFFFF;
  const reader = file.stream().getReader();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return (c ^ 0xFFFFFFFF) >>> 0;
    for (let i = 0; i < value.length; i += 1) c = table[(c ^ value[i]) & 255] ^ (c >>> 8);
  }
}

/** fields are numbers of two or four bytes, the low one first. */
function fields(...pairs) {
  const bytes = new Uint8Array(pairs.reduce((n, [size]) => n + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [size, value] of pairs) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return bytes;
}

/** archive is a ZIP of files; the files themselves are not read into memory. */
export async function archive(files) {
  const parts = [];
  const directory = [];
  let at = 0;
  for (const file of files) {
    const name = new TextEncoder().encode(file.name);
    const sum = await checksum(file);
    const common = [[2, 20], [2, 0x0800], [2, 0], [2, 0], [2, 0x21], [4, sum], [4, file.size], [4, file.size], [2, name.length], [2, 0]]; // Stored, named in UTF-8, of the first day there is.
    const head = fields([4, 0x04034b50], ...common);
    parts.push(head, name, file);
    directory.push(fields([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), name);
    at += head.length + name.length + file.size;
  }
  const size = directory.reduce((n, part) => n + part.length, 0);
  return new Blob([...parts, ...directory, fields([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, at], [2, 0])], {type: 'application/octet-stream'});
}
