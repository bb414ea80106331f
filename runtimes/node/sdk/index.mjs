// This file has no checkpoints of cg's.
import codegreen from './index.cjs';

export const { Session, task, current, count, budget, express, fastify, annotateRequest, beginRequest, droppedAnnotations } = codegreen;
