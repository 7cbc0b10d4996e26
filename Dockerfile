# Davit's image: one for both processes. `docker build -t REGISTRY/davit:TAG .`, or the same with buildah or podman.
#
# The bases are arguments. Any base to build with has Node 24, npm and a shell; any base to run on has Node 24 at
# /nodejs/bin/node, as the distroless images do, and needs nothing else: no shell, no package manager.
ARG BUILD_BASE=docker.io/library/node:24-trixie-slim
ARG RUN_BASE=gcr.io/distroless/nodejs24-debian13:nonroot

# What it makes is the same for each platform, so it runs on that of the machine.
FROM --platform=$BUILDPLATFORM ${BUILD_BASE} AS build
WORKDIR /davit
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY test/image ./test/image
COPY src ./src
# A few files instead of 600: Node finds, reads and compiles them in half the time. They contain all packages that run.
RUN npm run --silent bundle && mv dist/sbom.cdx.json dist/THIRD-PARTY-NOTICES .

FROM ${RUN_BASE}
LABEL org.opencontainers.image.title="Davit" \
  org.opencontainers.image.description="An open Kubernetes operator that gives a cluster of your own a deployment service" \
  org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /davit
# Owned by root and written by nobody: the file system is mounted read-only.
COPY LICENSE package.json ./
COPY --from=build /davit/sbom.cdx.json /davit/THIRD-PARTY-NOTICES ./
COPY --from=build /davit/dist ./dist
ENV NODE_ENV=production
USER 65532:65532
EXPOSE 8443 9090
# Semi-spaces of 8 MB: larger ones, which node takes where there is much memory, cost memory, smaller ones processor time (docs/performance.md).
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "dist/main.js"]
