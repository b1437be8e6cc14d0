/**
 * Programs that run the blocks of a tutorial one after the other, as a reader does in one terminal:
 * variables and files of a block are there for the next one.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Ends the output of each block, before its exit code. */
const END = '\u001E';
const ENDED = new RegExp(`^([^${END}]*)${END}(\\d+)\n`);

/** Reads paths of blocks, one per line, and runs them in one namespace. */
const PYTHON_LOOP = `
import sys, traceback
scope = {"__name__": "__main__"}
for path in sys.stdin:
    code = 0
    try:
        exec(compile(open(path.strip(), encoding="utf-8").read(), path, "exec"), scope)
    except Exception:
        traceback.print_exc()
        code = 1
    print(f"\\x1e{code}", flush=True)
`;

export interface Output {
  readonly code: number;
  /** Standard output and standard error, as on a terminal. */
  readonly text: string;
}

export interface Session {
  run(code: string): Promise<Output>;
  close(): Promise<void>;
}

/** Opens a session in a folder. The program of its blocks is `sh` or a Python. */
export function openSession(
  language: 'sh' | 'python',
  program: string,
  folder: string,
  variables: Readonly<Record<string, string>>,
): Session {
  const env = { ...process.env, ...variables };
  const child: ChildProcess =
    language === 'sh'
      ? spawn('sh', ['-c', 'exec "$0" 2>&1', program], { cwd: folder, env, detached: true })
      : spawn('sh', ['-c', 'exec "$0" -u -c "$1" 2>&1', program, PYTHON_LOOP], {
          cwd: folder,
          env,
          detached: true,
        });
  const closed = once(child, 'close');
  let text = '';
  let wake = () => {};
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    wake();
  });
  void closed.then(() => wake());
  let blocks = 0;

  async function outputOfBlock(): Promise<Output> {
    for (;;) {
      const [, before = '', code = ''] = ENDED.exec(text) ?? [];
      if (code !== '') {
        text = '';
        return { code: Number(code), text: before };
      }
      if (child.exitCode !== null) throw new Error(`the session ended: ${text}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  return {
    run(code) {
      blocks += 1;
      const file = join(folder, `block-${blocks}.${language}`);
      writeFileSync(file, code);
      const line = language === 'sh' ? `. ${file} </dev/null; printf '${END}%s\\n' "$?"` : file;
      child.stdin?.write(`${line}\n`);
      return outputOfBlock();
    },
    async close() {
      // The group of processes, so that a block that hangs ends, too.
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      await closed;
    },
  };
}

/**
 * Whether an output is the one that a document shows. In the document, `…` is any text within a
 * line. The width of a column does not matter, because it depends on the names of folders.
 */
export function isShown(shown: string, output: string): boolean {
  const pattern = oneWidth(shown)
    .split('…')
    .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('.*');
  return new RegExp(`^${pattern}$`).test(oneWidth(output));
}

function oneWidth(text: string): string {
  return text
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/[ \r]+$/gm, '')
    .trimEnd();
}
