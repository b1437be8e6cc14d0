# The server and all commands, run as an unprivileged user. They write only to /data (the data
# folder, or the local cache) and /scratch (temporary files); the rest can be read-only.
# The tag is exact in its major version only. To add the digest:
#   docker buildx imagetools inspect node:24-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg NODE_IMAGE=node:24-slim@sha256:… --tag corkboard .

ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without install scripts: no package has to be compiled, and the Node.js of the image is used.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY console ./console
COPY site ./site
COPY docs ./docs
COPY bench ./bench
COPY *.md compose.yaml Dockerfile LICENSE ./
COPY demo/ATTRIBUTION.md ./demo/
COPY deploy ./deploy
RUN node node_modules/typescript/bin/tsc -p tsconfig.build.json \
  && chmod 0755 dist/cli/main.js \
  && node console/build/build.ts \
  && node site/build/build.ts \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
RUN install --directory --owner=node --group=node --mode=0700 /data /scratch
WORKDIR /app
COPY package.json LICENSE ./
COPY demo ./demo
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# So that "docker exec corkboard corkboard keys list" works.
RUN ln -s /app/dist/cli/main.js /usr/local/bin/corkboard
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Corkboard" \
  org.opencontainers.image.description="Read-only data API of a social-learning community" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production CORKBOARD_DATA=/data CORKBOARD_CACHE=/data/cache TMPDIR=/scratch
USER node
VOLUME ["/data", "/scratch"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "--eval", "fetch('http://127.0.0.1:8080/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["serve", "--host", "0.0.0.0"]
