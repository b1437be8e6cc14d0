/** Saves the points of a board as the file that a gradebook imports. */
import { type ReactNode, useState } from 'react';
import type { InsightsClient } from '../../../src/client/client.ts';
import { MEDIA_TYPES } from '../../../src/client/media-types.ts';
import { loseRefusedKey, openApi, troubleOf } from '../api/client.ts';
import { Card, Options } from '../parts/card.tsx';
import { useRange } from '../view/use-view.ts';
import { openSink } from './sink.ts';

type Asked = Parameters<InsightsClient['gradebook']>[0];
type System = NonNullable<Asked['for']>;
type Value = NonNullable<Asked['value']>;

const SYSTEMS: readonly (readonly [System, string])[] = [
  ['canvas', 'Canvas'],
  ['moodle', 'Moodle'],
  ['blackboard', 'Blackboard'],
  ['brightspace', 'Brightspace'],
  ['generic', 'Other systems'],
];
const VALUES: readonly (readonly [Value, string])[] = [
  ['score', 'Participation score'],
  ['points', 'Total points'],
];

interface Outcome {
  readonly isFailed: boolean;
  readonly text: string;
}

export function GradebookCard({ board }: { readonly board: string }) {
  const { start, end } = useRange();
  const [system, setSystem] = useState<System>('canvas');
  const [value, setValue] = useState<Value>('score');
  const [role, setRole] = useState('');
  const [property, setProperty] = useState('');
  const [outcome, setOutcome] = useState<Outcome>();

  const save = async () => {
    const file = `${system}-board-${board}.csv`;
    try {
      const sink = await openSink(file, MEDIA_TYPES.csv);
      if (sink === undefined) return;
      try {
        const choice = { for: system, value, class_role: role || undefined, id: property || undefined };
        const text = await openApi().insights.gradebook({ board, ...choice, start, end });
        await sink.write(new TextEncoder().encode(text));
        await sink.close();
      } catch (error) {
        await sink.abort().catch(() => undefined);
        throw error;
      }
      setOutcome({ isFailed: false, text: `Saved ${file}` });
    } catch (error) {
      loseRefusedKey(error);
      setOutcome({ isFailed: true, text: `The file could not be saved: ${troubleOf(error).detail}` });
    }
  };

  return (
    <Card
      title="Gradebook"
      note="The points of all users on this board in this range, as a file for a learning management system"
    >
      <div className="filters">
        <Select name="System" value={system} options={SYSTEMS} onChange={setSystem} />
        <Select name="Grade" value={value} options={VALUES} onChange={setValue} />
        <Field name="Class role" hint="All, or student" value={role} onChange={setRole} />
        <Field name="LMS property with the id" hint="The address" value={property} onChange={setProperty} />
        <button type="button" className="button" onClick={() => void save()}>
          Download gradebook
        </button>
      </div>
      <p className={outcome?.isFailed ? 'export-state is-failed' : 'export-state'} aria-live="polite">
        {outcome?.text}
      </p>
    </Card>
  );
}

function Select<T extends string>({
  name,
  value,
  options,
  onChange,
}: {
  readonly name: string;
  readonly value: T;
  readonly options: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
}): ReactNode {
  return (
    <label className="field">
      {name}
      <select className="input" value={value} onChange={(event) => onChange(event.target.value as T)}>
        <Options options={options} />
      </select>
    </label>
  );
}

function Field({
  name,
  hint,
  value,
  onChange,
}: {
  readonly name: string;
  /** What an empty field means. */
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  return (
    <label className="field">
      {name}
      <input
        className="input"
        value={value}
        placeholder={hint}
        onChange={(event) => onChange(event.target.value.trim())}
      />
    </label>
  );
}
