/**
 * Interactions between users as a graph: users who interact often are close together. The layout is
 * computed once and does not move.
 */
import {
  forceCenter,
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from 'd3-force';
import { useMemo, useState } from 'react';
import type { Interactions, Person } from '../api/answers.ts';
import { nameOf } from '../parts/links.tsx';
import { formatCount } from '../view/format.ts';
import { useFrameWidth } from './use-frame-width.ts';

interface Node extends SimulationNodeDatum {
  readonly person: Person;
  readonly weight: number;
  readonly radius: number;
}

interface Edge extends SimulationLinkDatum<Node> {
  readonly events: number;
}

interface Layout {
  /** Nodes whose names do not overlap. */
  readonly named: ReadonlySet<Node>;
  readonly nodes: readonly Node[];
  readonly edges: readonly (Edge & { readonly source: Node; readonly target: Node })[];
}

const TICKS = 300;
const MOST_NAMED = 16;
const LETTER_WIDTH = 6.5;
const LABEL_HEIGHT = 16;
const PADDING = 24;

export function Network({ data }: { readonly data: Pick<Interactions, 'people' | 'edges'> }) {
  const { parentRef, width } = useFrameWidth(100);
  const height = Math.max(320, Math.min(560, width * 0.62));
  const layout = useMemo(
    () => (width === 0 ? undefined : layOut(data, width, height)),
    [data, width, height],
  );
  const [focus, setFocus] = useState<string>();
  const most = Math.max(1, ...data.edges.map(({ events }) => events));
  const isNear = (node: Node) =>
    focus === undefined ||
    node.person.id === focus ||
    layout?.edges.some(
      ({ source, target }) =>
        (source === node && target.person.id === focus) || (target === node && source.person.id === focus),
    );
  return (
    <div ref={parentRef} className="network" style={{ height }}>
      {layout !== undefined && (
        <svg width={width} height={height} aria-hidden="true" onPointerLeave={() => setFocus(undefined)}>
          {layout.edges.map(({ source, target, events }) => (
            <path
              key={`${source.person.id} ${target.person.id}`}
              className={
                focus === undefined || source.person.id === focus || target.person.id === focus
                  ? 'network-edge'
                  : 'network-edge is-far'
              }
              d={curve(source, target)}
              strokeWidth={1 + (4 * events) / most}
            />
          ))}
          {layout.nodes.map((node) => (
            <g
              key={node.person.id}
              className={isNear(node) ? 'network-node' : 'network-node is-far'}
              transform={`translate(${node.x ?? 0} ${node.y ?? 0})`}
              onPointerEnter={() => setFocus(node.person.id)}
            >
              <circle r={node.radius}>
                <title>{`${nameOf(node.person)}: ${formatCount(node.weight, 'event')}`}</title>
              </circle>
            </g>
          ))}
          {layout.nodes
            .filter((node) => (focus === undefined ? layout.named.has(node) : node.person.id === focus))
            .map((node) => (
              <text key={node.person.id} x={node.x} y={(node.y ?? 0) - node.radius - 5}>
                {nameOf(node.person)}
              </text>
            ))}
        </svg>
      )}
    </div>
  );
}

function layOut(
  { people, edges }: Pick<Interactions, 'people' | 'edges'>,
  width: number,
  height: number,
): Layout {
  const weights = new Map<string, number>();
  for (const { actor, owner, events } of edges) {
    for (const id of [actor, owner]) weights.set(id, (weights.get(id) ?? 0) + events);
  }
  const most = Math.max(1, ...weights.values());
  const size = Math.min(1, 0.4 + width / 1600);
  const nodes: Node[] = people
    .map((person) => {
      const weight = weights.get(person.id) ?? 0;
      return { person, weight, radius: (4 + 14 * Math.sqrt(weight / most)) * size };
    })
    .sort((one, other) => other.weight - one.weight);
  const byId = new Map(nodes.map((node) => [node.person.id, node]));
  const links = edges.flatMap(({ actor, owner, events }) => {
    const [source, target] = [byId.get(actor), byId.get(owner)];
    return source === undefined || target === undefined ? [] : [{ source, target, events }];
  });
  forceSimulation(nodes)
    .force('link', forceLink<Node, Edge>(links).distance(80).strength(0.25))
    .force('charge', forceManyBody().strength(-260))
    .force(
      'collide',
      forceCollide<Node>(({ radius }) => radius + 6),
    )
    .force('center', forceCenter(width / 2, height / 2))
    .force('x', forceX(width / 2).strength(0.06))
    .force('y', forceY(height / 2).strength(0.06 * (width / height)))
    .stop()
    .tick(TICKS);
  fit(nodes, width, height);
  return { nodes, edges: links, named: namedOf(nodes) };
}

/** Scales the layout to the frame, with room for names. */
function fit(nodes: readonly Node[], width: number, height: number): void {
  const [xs, ys] = [nodes.map(({ x }) => x ?? 0), nodes.map(({ y }) => y ?? 0)];
  const place = (value: number, all: readonly number[], size: number, padding: number) => {
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const scale = high === low ? 0 : Math.min(1.6, (size - 2 * padding) / (high - low));
    return size / 2 + (value - (low + high) / 2) * scale;
  };
  for (const node of nodes) {
    node.x = place(node.x ?? 0, xs, width, Math.min(3 * PADDING, width / 9));
    node.y = place(node.y ?? 0, ys, height, 1.5 * PADDING);
  }
}

/** Those of the nodes with the most events whose names do not overlap. */
function namedOf(nodes: readonly Node[]): ReadonlySet<Node> {
  const named: Node[] = [];
  for (const node of nodes.slice(0, MOST_NAMED))
    if (!named.some((other) => isOver(node, other))) named.push(node);
  return new Set(named);
}

function isOver(one: Node, other: Node): boolean {
  const half = (node: Node) => (nameOf(node.person).length * LETTER_WIDTH) / 2;
  const top = (node: Node) => (node.y ?? 0) - node.radius;
  return (
    Math.abs((one.x ?? 0) - (other.x ?? 0)) < half(one) + half(other) &&
    Math.abs(top(one) - top(other)) < LABEL_HEIGHT
  );
}

function curve(source: Node, target: Node): string {
  const [x1, y1, x2, y2] = [source.x ?? 0, source.y ?? 0, target.x ?? 0, target.y ?? 0];
  const bend = 0.12;
  return `M${x1} ${y1}Q${(x1 + x2) / 2 + (y2 - y1) * bend} ${(y1 + y2) / 2 - (x2 - x1) * bend} ${x2} ${y2}`;
}
