/** A page with a table of all items of one kind, and a field to search them by name. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Column, DataTable } from './data-table.tsx';
import { Page } from './page.tsx';
import { SearchField } from './search-field.tsx';
import { Empty, Loaded } from './states.tsx';

export function SearchedPage<T>({
  title,
  note,
  find,
  wanted,
  onWanted,
  figures,
  all,
  rows,
  columns,
  rowKey,
  none,
  noneFound,
}: {
  readonly title: string;
  readonly note: ReactNode;
  /** Name of the search field. */
  readonly find: string;
  readonly wanted: string;
  readonly onWanted: (wanted: string) => void;
  /** The page waits for both, `figures` and `all`. */
  readonly figures: UseQueryResult<unknown>;
  readonly all: UseQueryResult<readonly unknown[]>;
  /** The matches, most events first. */
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T) => string;
  /** Titles if there is nothing at all, and if nothing matches. */
  readonly none: string;
  readonly noneFound: string;
}) {
  const field = <SearchField name={find} value={wanted} onChange={onWanted} found={rows.length} />;
  return (
    <Page title={title} note={note} tools={field}>
      <Loaded answer={figures} height={480}>
        {() => (
          <Loaded answer={all} height={480} isEmpty={(list) => list.length === 0} empty={none}>
            {() =>
              rows.length === 0 ? (
                <Empty title={noneFound} />
              ) : (
                <DataTable
                  caption={title}
                  columns={columns}
                  rows={rows}
                  rowKey={rowKey}
                  initialSort={{ key: 'events', isDown: true }}
                />
              )
            }
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}
