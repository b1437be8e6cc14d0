/** Prints each result at once, and a summary at the end. */
export interface Report {
  pass(name: string): void;
  fail(name: string, detail: string): void;
  /** Prints text that neither passes nor fails, for example a warning of a linter. */
  note(text: string): void;
  /** Prints `N passed, N failed`; returns whether none failed. */
  close(): boolean;
}

export function openReport(print: (line: string) => void): Report {
  const count = { passed: 0, failed: 0 };
  return {
    pass(name) {
      count.passed += 1;
      print(`ok      ${name}`);
    },
    fail(name, detail) {
      count.failed += 1;
      print(`FAILED  ${name}\n${indent(detail)}`);
    },
    note: (text) => print(indent(text)),
    close() {
      print(`${count.passed} passed, ${count.failed} failed`);
      return count.failed === 0 && count.passed > 0;
    },
  };
}

function indent(text: string): string {
  return text.trim().replace(/^/gm, '        ');
}
