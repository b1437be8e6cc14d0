/** Prints each result at once, and a summary at the end. */
export interface Report {
  pass(name: string): void;
  fail(name: string, detail: string): void;
  /** Prints why something is not checked here. */
  skip(name: string, reason: string): void;
  /** Prints text that neither passes nor fails, for example a warning of a linter. */
  note(text: string): void;
  /** Prints `N passed, N failed`, and `, N skipped` if any were; returns whether none failed. */
  close(): boolean;
}

export function openReport(print: (line: string) => void): Report {
  const count = { passed: 0, failed: 0, skipped: 0 };
  return {
    pass(name) {
      count.passed += 1;
      print(`ok      ${name}`);
    },
    fail(name, detail) {
      count.failed += 1;
      print(`FAILED  ${name}\n${indent(detail)}`);
    },
    skip(name, reason) {
      count.skipped += 1;
      print(`skipped ${name}: ${reason}`);
    },
    note: (text) => print(indent(text)),
    close() {
      const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`;
      print(`${count.passed} passed, ${count.failed} failed${skipped}`);
      return count.failed === 0 && count.passed > 0;
    },
  };
}

function indent(text: string): string {
  return text.trim().replace(/^/gm, '        ');
}
