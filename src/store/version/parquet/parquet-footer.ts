/**
 * Checks the metadata at the end of a Parquet file before DuckDB reads it. The metadata of a small
 * file can make DuckDB use up all memory, run without end, or crash the process (decision 64). The
 * data in the columns is not checked.
 */
import { open } from 'node:fs/promises';
import { ThriftReader } from './thrift-reader.ts';

const MAGIC = 'PAR1';
/** The length of the footer, and the magic bytes. */
const TAIL_BYTES = 8;
const LARGEST_FOOTER_BYTES = 32 * 1024 * 1024;
const MOST_COLUMNS = 1000;
const DEEPEST = 64;
/** Number of rows that any file may have. Larger files may have more. */
const UNCHECKED_ROWS = 10_000_000;
const MOST_ROWS_A_BYTE = 100;

/**
 * The reason why the file must not be read. Undefined if it may be read, and if it is not Parquet,
 * for which DuckDB has the better message.
 */
export async function refusalOfFooter(path: string): Promise<string | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const tail = Buffer.alloc(TAIL_BYTES);
    if (size < TAIL_BYTES + MAGIC.length) return undefined;
    await file.read(tail, 0, TAIL_BYTES, size - TAIL_BYTES);
    const length = tail.readUInt32LE(0);
    if (tail.toString('latin1', 4) !== MAGIC || length > size - TAIL_BYTES) return undefined;
    if (length > LARGEST_FOOTER_BYTES) return 'its description is longer than 32 MiB';
    const footer = Buffer.alloc(length);
    await file.read(footer, 0, length, size - TAIL_BYTES - length);
    return refusalOf(footer, size);
  } finally {
    await file.close();
  }
}

function refusalOf(footer: Buffer, fileBytes: number): string | undefined {
  try {
    let refusal: string | undefined;
    let rows = 0;
    const reader = new ThriftReader(footer);
    reader.struct((field) => {
      if (field === 2) refusal = refusalOfSchema(reader);
      else if (field === 4) rows = Math.max(rows, rowsOfGroups(reader));
      else reader.skip();
      return refusal === undefined;
    });
    if (refusal !== undefined) return refusal;
    const mostRows = Math.max(UNCHECKED_ROWS, MOST_ROWS_A_BYTE * fileBytes);
    return rows > mostRows ? `it claims ${rows} rows in ${fileBytes} bytes` : undefined;
  } catch (error) {
    if (error instanceof RangeError) return 'its description is broken';
    throw error;
  }
}

/** The children of each schema element follow it. */
function refusalOfSchema(reader: ThriftReader): string | undefined {
  const elements = reader.listLength();
  if (elements > MOST_COLUMNS) return `it has more than ${MOST_COLUMNS} columns`;
  /** For each open group, the number of children still to come. */
  const open: number[] = [];
  for (let element = 0; element < elements; element += 1) {
    const children = childrenOf(reader);
    const parent = open.length - 1;
    if (parent >= 0) open[parent] = (open[parent] ?? 0) - 1;
    if (children > 0) open.push(children);
    if (open.length > DEEPEST) return `its columns nest more than ${DEEPEST} levels deep`;
    while (open.at(-1) === 0) open.pop();
  }
  return undefined;
}

function childrenOf(reader: ThriftReader): number {
  let children = 0;
  reader.struct((field) => {
    if (field === 5) children = reader.integer();
    else reader.skip();
    return true;
  });
  return children;
}

function rowsOfGroups(reader: ThriftReader): number {
  let rows = 0;
  for (let groups = reader.listLength(); groups > 0; groups -= 1) {
    reader.struct((field) => {
      if (field === 3) rows += Math.abs(reader.integer());
      else reader.skip();
      return true;
    });
  }
  return rows;
}
