// Calls not marked `once` are queries: when a node dies, they are repeated on another and no client notices.
import { hash } from 'node:crypto';
import { toGrpcCode } from '@palaver/contract/internal';
import { LRUCache } from 'lru-cache';
import { type Done, failure, type GrpcAnswer, type GrpcRequest, type QueryRequest, type Send } from './call.ts';
import type { Connection } from './connection.ts';
import { type ChooseNode, maxWaitMs, type NodeWatch, readHeight } from './node-watch.ts';

export interface RetryOptions {
  choose: ChooseNode;
  watch: NodeWatch;
  maxAttempts: number;
}

/** A chain makes no more blocks than this while a call waits. */
const maxBlocksAhead = 10;
/** The part of a call's time that is spent on waiting for a height. */
const waitShare = 0.8;
/** What nodes say about a height that they have pruned or not reached yet. */
const heightRefusal =
  /height in the future|must be less than or equal to|version does not exist|pruned|lowest height|failed to load state|bigger than|bigger then/i;

/** How long a query whose answer ended a session is sent alone. */
const rememberMs = 60_000;
/** With this many such queries, every query of their method is sent alone. */
const maxRemembered = 3;

/** Queries whose answers ended a session: others' calls must not be on it the next time. */
class SessionEnders {
  private readonly methods = new LRUCache<string, Set<string>>({ max: 1_000, ttl: rememberMs });

  has({ path, body }: GrpcRequest): boolean {
    const queries = this.methods.get(path);
    return queries !== undefined && (queries.size >= maxRemembered || queries.has(toFingerprint(body)));
  }

  add({ path, body }: GrpcRequest): void {
    const queries = this.methods.get(path) ?? new Set();
    if (queries.size < maxRemembered) queries.add(toFingerprint(body));
    this.methods.set(path, queries);
  }
}

function toFingerprint(body: Uint8Array): string {
  return hash('sha1', body, 'base64');
}

type RetryParts = RetryOptions & { enders: SessionEnders };

export function createRetry(options: RetryOptions): Send {
  const parts = { ...options, enders: new SessionEnders() };
  return (request, done) => {
    const call = new RetriedCall(request, done, parts);
    call.next();
    return () => call.cancel();
  };
}

class RetriedCall {
  private readonly started = performance.now();
  private tried: Connection[] = [];
  private attempts = 0;
  private answer: GrpcAnswer = unreachable;
  /** Whether the best node so far is below the height that is needed. */
  private isBehind = false;
  private isSuspect: boolean;
  private hasWaited = false;
  private isDone = false;
  private giveUp: (() => void) | undefined;

  private readonly request: QueryRequest;
  private readonly done: Done;
  private readonly options: RetryParts;

  constructor(request: QueryRequest, done: Done, options: RetryParts) {
    this.isSuspect = options.enders.has(request);
    this.request = request;
    this.done = done;
    this.options = options;
  }

  next(): void {
    const { choose, maxAttempts, watch } = this.options;
    const { height, minHeight = 0 } = this.request;
    if (height === undefined && minHeight > 0 && this.attempts === 0 && !this.hasWaited) {
      const tip = watch.chain().height;
      if (tip !== null && minHeight > tip) {
        this.waitForHeight(tip);
        return;
      }
    }
    const need = height ?? minHeight;
    const isOver = this.attempts >= (this.request.once ? 1 : maxAttempts);
    const node = isOver ? undefined : choose.now(this.tried, need);
    if (node) this.ask(node);
    else if (isOver) this.end();
    else {
      void choose.orWait(this.tried, need, this.msLeft()).then((found) => {
        if (this.isDone) return;
        if (found) this.ask(found);
        else this.end();
      });
    }
  }

  cancel(): void {
    const { giveUp } = this;
    this.finish(failure('cancelled'));
    giveUp?.();
  }

  private ask(node: Connection): void {
    const timeoutMs = this.msLeft();
    if (timeoutMs <= 0) {
      this.finish(failure('deadline'));
      return;
    }
    this.tried.push(node);
    this.attempts += 1;
    const request = this.attempts === 1 ? this.request : { ...this.request, timeoutMs };
    let isAnswered = false;
    const send = this.isSuspect ? node.sendAlone : node.send;
    const cancel = send(request, (answer) => {
      isAnswered = true;
      this.giveUp = undefined;
      this.take(node, answer);
    });
    if (!isAnswered) this.giveUp = cancel;
  }

  private take(node: Connection, next: GrpcAnswer): void {
    if (this.isDone) return;
    const { watch, choose, enders } = this.options;
    const { height, minHeight = 0 } = this.request;
    if (!next.ok && next.fault !== undefined) {
      // An answer that was refused for its height says more than that another node could not be reached.
      if (!this.isBehind && (this.answer.ok || this.answer.fault !== undefined)) this.answer = next;
      const isSuspected = next.fault === 'breach' && !this.isSuspect && !this.request.once;
      // A node may also end the session itself over its own answer.
      const isEnder = next.fault === 'breach' ? !isSuspected : next.fault === 'reset' && !node.reachable();
      if (isEnder) enders.add(this.request);
      this.isSuspect ||= isSuspected;
      // Any of the calls on a session may have made it end: alone, this one harms no other.
      if (isSuspected) this.ask(node);
      else if (next.fault === 'unreachable' || next.fault === 'not gRPC') this.next();
      else this.end();
      return;
    }
    if (height === undefined) watch.note(node, next.metadata);
    const reported = readHeight(next.metadata) ?? watch.stateOf(node).height ?? minHeight;
    this.isBehind = height === undefined && reported < minHeight;
    this.answer = next;
    const isRepeated = this.isBehind || (!this.request.once && isElsewhere(next, height));
    if (isRepeated && choose.now(this.tried, 0)) this.next();
    else this.end();
  }

  private end(): void {
    if (!this.isBehind) this.finish(this.answer);
    else this.waitForHeight(this.options.watch.chain().height);
  }

  /** A node may reach the height within moments. The watch shows it; nodes are asked again once. */
  private waitForHeight(tip: number | null): void {
    const { minHeight = 0, timeoutMs } = this.request;
    // The node is asked in what is left of the call's time.
    const leftMs = this.started + Math.min(timeoutMs * waitShare, maxWaitMs) - performance.now();
    const isFar = tip !== null && minHeight - tip > maxBlocksAhead;
    if (this.hasWaited || isFar || leftMs <= 0) {
      this.finish(failure('behind'));
      return;
    }
    this.hasWaited = true;
    this.giveUp = this.options.watch.onHeight(minHeight, leftMs, () => {
      this.giveUp = undefined;
      this.tried = [];
      this.attempts = 0;
      this.answer = unreachable;
      this.isBehind = false;
      this.next();
    });
  }

  private finish(answer: GrpcAnswer): void {
    if (this.isDone) return;
    this.isDone = true;
    this.giveUp = undefined;
    this.done(answer);
  }

  private msLeft(): number {
    return this.started + this.request.timeoutMs - performance.now();
  }
}

function isElsewhere(answer: GrpcAnswer, height: number | undefined): boolean {
  if (answer.ok) return false;
  if (answer.code === toGrpcCode('UNAVAILABLE')) return true;
  return height !== undefined && heightRefusal.test(answer.message);
}

const unreachable = failure('unreachable');
