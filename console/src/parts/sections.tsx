/** The sections of a page, each with its own URL. */
import { useEffect, useRef } from 'react';
import { PageLink } from './links.tsx';

export interface Section {
  readonly name: string;
  readonly title: string;
}

/** The URL of the first section is that of the page. */
export function Sections({
  name,
  base,
  sections,
  current,
}: {
  readonly name: string;
  readonly base: string;
  readonly sections: readonly Section[];
  readonly current: string;
}) {
  const frame = useRef<HTMLElement>(null);
  useEffect(() => {
    const link = frame.current?.querySelector(`[aria-current][href*="${current}"]`);
    link?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  return (
    <nav aria-label={name} className="sections" ref={frame}>
      {sections.map((section, place) => (
        <PageLink
          key={section.name}
          to={place === 0 ? base : `${base}/${section.name}`}
          isCurrent={section.name === current}
        >
          {section.title}
        </PageLink>
      ))}
    </nav>
  );
}
