import { expect, test } from 'vitest';
import {
  agentHealthSchema,
  agentLandingSchema,
  gatewayHealthSchema,
  ussdHealthSchema,
  ussdRootSchema,
} from './health.ts';

const timestamp = '2026-01-02T03:04:05.678Z';
const ussd = { status: 'ok', environment: 'production', timestamp, uptime: 1.5, database: 'connected' };
const upstreams = [{ address: 'localhost:9090', healthy: true, height: 12, catchingUp: false }];
const gateway = { status: 'ok', height: 12, blockAgeSeconds: 3, halted: false, routes: 40, upstreams, timestamp };

test.each([
  [ussdHealthSchema, ussd],
  [ussdHealthSchema, { ...ussd, status: 'degraded', database: 'disconnected' }],
  [ussdRootSchema, { status: 'ok', message: 'Palaver USSD running', environment: 'test', timestamp }],
  [agentHealthSchema, { status: 'ok', timestamp }],
  [agentLandingSchema, { status: 'ok', message: 'Palaver agent running', timestamp }],
  [gatewayHealthSchema, gateway],
  [gatewayHealthSchema, { ...gateway, status: 'down', height: null, upstreams: [] }],
])('a good health record is kept whole (%#)', (schema, record) => {
  expect(schema.parse(record)).toEqual(record);
});

test.each([
  [ussdHealthSchema, { ...ussd, status: 'down' }],
  [ussdHealthSchema, { ...ussd, database: 'unknown' }],
  [ussdHealthSchema, { ...ussd, uptime: -1 }],
  [ussdHealthSchema, { ...ussd, uptime: '5s' }],
  [ussdRootSchema, { status: 'ok', message: 'x', timestamp }],
  [agentHealthSchema, { status: 'ok', timestamp: 'now' }],
  [gatewayHealthSchema, { ...gateway, height: '12' }],
  [gatewayHealthSchema, { ...gateway, routes: -1 }],
  [gatewayHealthSchema, { ...gateway, upstreams: [{ address: 'x' }] }],
])('a bad health record is refused (%#)', (schema, record) => {
  expect(schema.safeParse(record).success).toBe(false);
});
