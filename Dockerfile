# Davit's image: one for both processes. `docker build -t REGISTRY/davit:TAG .`, or the same with buildah or podman.
#
# The bases are arguments. Any base to build with has Node 24, npm and a shell; any base to run on has Node 24 at
# /nodejs/bin/node, as the distroless images do, and needs nothing else: no shell, no package manager.
ARG BUILD_BASE=docker.io/library/node:24-trixie-slim
ARG RUN_BASE=gcr.io/distroless/nodejs24-debian13:nonroot

# What runs beside our own code. Optional packages are the developers' Node and speed-ups that nothing here uses.
FROM ${BUILD_BASE} AS dependencies
WORKDIR /davit
COPY package.json package-lock.json .npmrc ./
COPY test/image/sbom.ts ./test/image/
RUN npm ci --no-audit --no-fund --omit=dev --omit=optional \
  && npm run --silent sbom > sbom.cdx.json \
  && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -iname '*.md' \) -delete

FROM ${BUILD_BASE} AS build
WORKDIR /davit
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
# A few files instead of 600: Node finds, reads and compiles them in half the time.
RUN npm run --silent bundle

FROM ${RUN_BASE}
LABEL org.opencontainers.image.title="Davit" \
  org.opencontainers.image.description="An open Kubernetes operator that gives a cluster of your own a deployment service" \
  org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /davit
# Owned by root and written by nobody: the file system is mounted read-only.
COPY --from=dependencies /davit/package.json /davit/sbom.cdx.json ./
COPY --from=dependencies /davit/node_modules ./node_modules
COPY --from=build /davit/dist ./dist
ENV NODE_ENV=production
USER 65532:65532
EXPOSE 8443 9090
# Semi-spaces of 8 MB: larger ones, which node takes where there is much memory, cost memory, smaller ones processor time (docs/performance.md).
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "dist/main.js"]
