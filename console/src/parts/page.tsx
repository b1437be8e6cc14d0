/** A page with its title and tools at the top. */
import { type ReactNode, useEffect } from 'react';

export function Page({
  title,
  above,
  note,
  tools,
  children,
}: {
  readonly title: string;
  readonly above?: ReactNode;
  readonly note?: ReactNode;
  readonly tools?: ReactNode;
  readonly children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Corkboard`;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <div>
          {above !== undefined && <p className="page-above">{above}</p>}
          <h1>{title}</h1>
          {note !== undefined && <p className="page-note">{note}</p>}
        </div>
        {tools !== undefined && <div className="page-tools">{tools}</div>}
      </header>
      {children}
    </>
  );
}
