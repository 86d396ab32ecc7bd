# syntax=docker/dockerfile:1
# One static binary in an image without a shell.
#
#   docker build -t prefect-openlineage-listener .
#   docker buildx build --platform linux/amd64,linux/arm64 -t prefect-openlineage-listener .
#
# The bases are pinned by the digests of their indexes for all platforms. Another registry's copy can take their place by
# --build-arg. deploy/image/Dockerfile makes the same image of binaries that are there already.
ARG GO_IMAGE=docker.io/library/golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d
ARG BASE_IMAGE=gcr.io/distroless/static-debian13:nonroot@sha256:e2e927ec666bae08560abb3c55d0659eceabb657f56b6782ab500a9fc7f555e3

FROM --platform=$BUILDPLATFORM $GO_IMAGE AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=unknown
ARG DATE=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
      -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT -X main.date=$DATE" \
      -o /out/listener ./cmd/listener
WORKDIR /out/state

FROM $BASE_IMAGE
ARG VERSION=dev
ARG COMMIT=unknown
ARG DATE=unknown
LABEL org.opencontainers.image.title="prefect-openlineage-listener" \
      org.opencontainers.image.description="Reads what ran in Prefect and tells OpenLineage consumers about it" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/prefect-openlineage/listener" \
      org.opencontainers.image.documentation="https://github.com/prefect-openlineage/listener/blob/main/docs/deploying.md" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT" \
      org.opencontainers.image.created="$DATE"
COPY --from=build /out/listener /usr/local/bin/listener
# The only writable place: mount a volume here to keep the store over restarts.
COPY --from=build --chown=65532:65532 /out/state /var/lib/listener
ENV STATE_DIRECTORY=/var/lib/listener LISTENER_HTTP_ADDR=:8080 LISTENER_LOG_FORMAT=json
USER 65532:65532
VOLUME /var/lib/listener
EXPOSE 8080
# It asks whether the process answers, since some engines end what is unhealthy, and no restart heals Prefect. Whoever wants
# to see more adds --ready.
HEALTHCHECK --interval=30s --timeout=6s --start-period=10m CMD ["/usr/local/bin/listener", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/listener"]
CMD ["run"]
