# Two commands matter: `make demo` and `make test`. Both set up what they need inside the checkout.

VERSION ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null | sed 's/^v//' | grep . || cat VERSION)
COMMIT  ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
DATE    ?= $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
LDFLAGS  = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

PYTHON  ?= python3
VENV    := .cache/venv
DATAHUB := .cache/datahub-venv
# Servers of other versions, each in an environment of its own. The oldest need a Python older than 3.13; without one
# they are left out.
OTHER_PYTHON ?= $(shell for p in python3.11 python3.12 python3.10; do $$p -c '' 2>&- && echo $$p && break; done)
OTHERS  ?= $(if $(OTHER_PYTHON),2.20.25 3.0.11) 3.4.25 3.6.0
OTHER_VENVS := $(OTHERS:%=.cache/venv-%/.ready)
UNIT     = $$($(GO) list ./... | grep -v /test/)
GO      ?= go
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: build $(VENV)/.ready ## a real Prefect server, real flow runs, their lineage on the screen
	@$(VENV)/bin/python demo/demo.py

# Those in test/ build the listener themselves, so go would not see that it changed and show their last results again.
test: build venvs ## every test, those on real servers included
	$(GO) test -timeout 15m $(UNIT)
	$(GO) test -timeout 30m -p 1 -count 1 ./test/...

venvs: $(VENV)/.ready versions $(DATAHUB)/.ready .cache/gcp-venv/.ready ## the Python environments that the tests need

versions: ## servers of older Prefect versions, for the suite on them
	@$(if $(OTHER_VENVS),$(MAKE) --no-print-directory -j$(words $(OTHER_VENVS)) $(OTHER_VENVS),echo "no older version of Prefect was asked for")

race: ## the unit tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 20m $(UNIT)

build: ## bin/listener, static, version stamped
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/listener ./cmd/listener

lint: ## golangci-lint at the version pinned in tools/go.mod
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...

licences: ## docs/licences.md anew, after a change of dependencies
	$(GO) test ./test/licences -run TestLicences -update

vuln: ## known vulnerabilities in what is used; says so where the database can't be reached
	GO="$(GO)" test/vuln.sh

bench: build $(VENV)/.ready .cache/bench-venv/.ready $(DATAHUB)/.ready ## measures against yardsticks that run beside it; prints ratios
	$(GO) run ./test/bench

# The Python package that the listener is measured beside has an environment of its own.
.cache/bench-venv/.ready: test/bench/requirements.txt $(VENV)/.ready
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

fuzz: ## each fuzz target for FUZZTIME (default 1m)
	test/fuzz.sh $(or $(FUZZTIME),1m)

deploy-tools: .cache/tools/.deploy ## helm and what else the tests of deploy/ call (one to three minutes, once)

.cache/tools/.deploy: $(wildcard tools/deploy/go.* tools/deploy/*/*.go)
	@mkdir -p $(@D)
	cd tools/deploy && $(GO) build -ldflags '$(HELM_LDFLAGS)' -o ../../$(@D)/ ./manifestcheck ./composecheck helm.sh/helm/v3/cmd/helm
	@touch $@

release-tools: .cache/tools/.release ## goreleaser and what it calls (several minutes, once)

.cache/tools/.release: tools/release/go.mod tools/release/go.sum
	@mkdir -p $(@D)
	cd tools/release && $(GO) build -ldflags '-s -w' -o ../../$(@D)/ tool
	@touch $@

# Without these helm takes it that a cluster is as old as its sources' first guess.
HELM_LDFLAGS = -s -w -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=35

image: ## the container image (needs Docker)
	docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t prefect-openlineage-listener:$(VERSION) .

clean: ## all that these targets made
	rm -rf bin .cache .demo

# The virtual environments live in the checkout, so that nothing outside it is needed or changed.
define venv # interpreter, folder, requirements, what more pip is told
@$(1) -c 'import venv, ensurepip' 2>/dev/null || { \
  echo "$(1) lacks the venv module: on Debian, apt-get install python3-venv" >&2; exit 1; }
$(1) -m venv $(2)
$(2)/bin/pip install --quiet --disable-pip-version-check $(4) --requirement $(3)
@touch $(2)/.ready
endef

$(VENV)/.ready: test/python/requirements.txt
	$(call venv,$(PYTHON),$(VENV),$<)

$(DATAHUB)/.ready: test/python/datahub.txt
	$(call venv,$(PYTHON),$(DATAHUB),$<,--no-compile)

.cache/venv-%/.ready: test/python/prefect-%.txt
	$(call venv,$(or $(OTHER_PYTHON),$(PYTHON)),.cache/venv-$*,$<,--no-compile)

# Google's own library, beside which the listener's requests are laid, has an environment of its own.
.cache/gcp-venv/.ready: test/gcp/requirements.txt
	$(call venv,$(PYTHON),.cache/gcp-venv,$<)

.PHONY: help demo test venvs versions race build lint licences vuln bench fuzz deploy-tools release-tools image clean
