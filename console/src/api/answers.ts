/** The types of the client for response bodies, under the names that the console uses. */
import type { VariantB } from '../../../src/client/client.ts';
import type * as Insights from '../../../src/client/schema-insights.ts';

export type Board = VariantB.Board;
export type Person = VariantB.User;
export type CommunityEvent = Insights.Event;
export type Overview = Insights.Overview;
export type Activity = Insights.Activity;
export type Returning = Insights.Returning;
export type RankedBoard = Insights.RankedBoard;
export type RankedPerson = Insights.RankedUser;
export type RankedPins = Insights.RankedPins;
export type Participation = Insights.Participation;
export type Interactions = Insights.Interactions;
export type Ledger = Insights.Ledger;
