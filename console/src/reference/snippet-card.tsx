/** The request in several languages, ready to copy. */
import { useRef, useState } from 'react';
import { Card } from '../parts/card.tsx';
import { LANGUAGES, type Language, type Wanted, writeSnippet } from './snippets.ts';

export function SnippetCard({ wanted }: { readonly wanted: Wanted }) {
  const [language, setLanguage] = useState<Language>('curl');
  const [said, setSaid] = useState('');
  const frame = useRef<HTMLPreElement>(null);
  const text = writeSnippet(language, wanted);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      // Browsers refuse clipboard access without TLS; then the text is selected instead.
      if (frame.current !== null) getSelection()?.selectAllChildren(frame.current);
      setSaid('Selected. Press Ctrl+C or ⌘C to copy.');
    }
  };
  return (
    <Card
      title="Code"
      note={
        <>
          Reads the API key from <code>CORKBOARD_KEY</code>
        </>
      }
      tools={
        <>
          <fieldset className="chips">
            <legend className="unseen">Language</legend>
            {LANGUAGES.map((one) => (
              <button
                key={one}
                type="button"
                className="button button-chip"
                aria-pressed={one === language}
                onClick={() => {
                  setLanguage(one);
                  setSaid('');
                }}
              >
                {one}
              </button>
            ))}
          </fieldset>
          <button type="button" className="button button-quiet" onClick={() => void copy()}>
            Copy
          </button>
          <span className="card-note" aria-live="polite">
            {said}
          </span>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard */}
      <pre className="code" ref={frame} tabIndex={0}>
        {text}
      </pre>
    </Card>
  );
}
