/** Links to pages of the console, which keep the range, and the names of boards and users. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Board, Person } from '../api/answers.ts';
import { type Change, useLink } from '../view/use-view.ts';

export function PageLink({
  to,
  more,
  className,
  isCurrent,
  children,
}: {
  readonly to: string;
  readonly more?: Change;
  readonly className?: string;
  readonly isCurrent?: boolean;
  readonly children: ReactNode;
}) {
  const link = useLink();
  return (
    <Link href={link(to, more)} className={className} aria-current={isCurrent ? 'page' : undefined}>
      {children}
    </Link>
  );
}

export function BoardLink({ board }: { readonly board: Board }) {
  return (
    <PageLink to={`/console/boards/${board.id}`} className="name">
      {board.title || `Board ${board.id}`}
    </PageLink>
  );
}

export function PersonLink({ person }: { readonly person: Person }) {
  return (
    <PageLink to={`/console/people/${person.id}`} className="name">
      {nameOf(person)}
    </PageLink>
  );
}

export function nameOf({ name, email, id }: Person): string {
  return name.trim() || email || `User ${id}`;
}
