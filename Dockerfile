# One image for every service: the command is what `palaver` takes (`up`, `ussd`, `agent`, `gateway`, `console`, …).
FROM node:24-bookworm-slim AS build
WORKDIR /opt/palaver
COPY . .
RUN npm install --no-audit --no-fund \
  && npm run build --workspace apps/console \
  && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATA_DIR=/var/lib/palaver
COPY --from=build /opt/palaver /opt/palaver
RUN install --directory --owner node --group node --mode 0700 /var/lib/palaver
WORKDIR /opt/palaver
# The image's own user 1000 (`node`); as a number, so that Kubernetes can see it is not root.
USER 1000:1000
# The only folder that is written to: the root file system may be read-only.
VOLUME /var/lib/palaver
EXPOSE 1317 3000 4000 8080 9090
ENTRYPOINT ["node", "apps/cli/bin/palaver.js"]
CMD ["up"]
