# syntax=docker/dockerfile:1
# One static binary in an image without a shell. Build for another platform with --platform.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=dev COMMIT=unknown DATE=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
      -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT -X main.date=$DATE" \
      -o /out/listener ./cmd/listener \
 && mkdir -p /out/state

FROM gcr.io/distroless/static-debian13:nonroot
LABEL org.opencontainers.image.title="prefect-openlineage-listener" \
      org.opencontainers.image.description="Reads what ran in Prefect and tells OpenLineage consumers about it" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/prefect-openlineage/listener"
COPY --from=build /out/listener /usr/local/bin/listener
# The only writable place: mount a volume here to keep the store over restarts.
COPY --from=build --chown=65532:65532 /out/state /var/lib/listener
ENV STATE_DIRECTORY=/var/lib/listener LISTENER_HTTP_ADDR=:8080 LISTENER_LOG_FORMAT=json
VOLUME /var/lib/listener
EXPOSE 8080
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/listener"]
CMD ["run"]
