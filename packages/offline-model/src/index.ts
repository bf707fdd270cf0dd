export { createOfflineModel, type OfflineModelOptions } from './create-offline-model.ts';
