/** Asks for a key, checks it with a request, and keeps it. */
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { ProblemError } from '../../src/client/client.ts';
import { openApi, troubleOf } from './api/client.ts';
import { takeKey } from './api/key.ts';
import { Brand } from './parts/brand.tsx';

export function KeyForm({ reason }: { readonly reason: string | undefined }) {
  const id = useId();
  const [key, setKey] = useState('');
  const [trouble, setTrouble] = useState(reason);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Sign in · Corkboard';
    field.current?.focus();
  }, []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const trimmed = key.trim();
    if (trimmed === '') {
      setTrouble('Enter an API key.');
      field.current?.focus();
      return;
    }
    setBusy(true);
    try {
      await openApi(trimmed, { retries: 0 }).insights.overview();
      takeKey(trimmed);
    } catch (error) {
      setBusy(false);
      // The key is valid even if there is no data yet.
      if (error instanceof ProblemError && error.code === 'not-published') takeKey(trimmed);
      else setTrouble(troubleOf(error).detail);
      field.current?.focus();
    }
  };

  return (
    <main className="door">
      <form className="door-card" onSubmit={(event) => void submit(event)} noValidate>
        <Brand />
        <h1>Sign in</h1>
        <p className="door-text">See the activity, points and users that your API key has access to.</p>
        <label htmlFor={id}>API key</label>
        <input
          id={id}
          ref={field}
          className="input"
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder="cork_…"
          value={key}
          aria-invalid={trouble !== undefined}
          aria-describedby={trouble === undefined ? `${id}-note` : `${id}-trouble ${id}-note`}
          onChange={(event) => setKey(event.target.value)}
        />
        <div aria-live="assertive">
          {trouble !== undefined && (
            <p id={`${id}-trouble`} className="door-trouble">
              {trouble}
            </p>
          )}
        </div>
        <button type="submit" className="button button-main" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
        <p id={`${id}-note`} className="door-note">
          The key stays in the tabs of the console. It is never part of a URL and is deleted when you close
          the last tab. Ask your administrator for one, who makes it with <code>corkboard keys create</code>.
        </p>
      </form>
      <p className="door-foot">
        <a href="/docs/">Documents</a> · <a href="/docs/api">API reference</a> ·{' '}
        <a href="/console/licenses.md">Licences</a>
      </p>
    </main>
  );
}
