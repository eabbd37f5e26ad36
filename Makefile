# Railguard. `make` prints the words; CI runs the same ones.
GO      ?= go
# What is built for a test, a bench and a release is compiled once, without cgo.
export CGO_ENABLED := 0
VERSION ?= $(shell sed -n 's/^const Version = "\(.*\)"/\1/p' doc.go)
FUZZ    ?= 10s
WALK ?= 20000
# What waits for processes, disks and clocks for long; the race detector sees what they run in other tests.
RACE_SKIP := OlderCopy|Dead|Recover|Guard|HangingDisk|VoteOfTheNode|ClocksLeap|LivingMajority|NothingCommitted|GivesUp|AllDisks|DiskIsWatched
# What one goroutine computes for long; the race detector has nothing to see there.
RACE_ALONE := NoByteOfAnExport|AWeekHasNoAct|FlippedBit|CannotBeCut|WalkOver|Backtest|EveryMember|RetroSurvivesLeaders
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS := -X main.version=$(VERSION) -X main.commitOfBuild=$(COMMIT)
# What the compiler is told of where the time goes (docs/decisions/0078-profile-of-a-release.md).
PROFILE := -pgo=cmd/railguard/release.pgo
# The benches are a module of their own: the product needs nothing of it.
BENCH := $(GO) -C bench test
# Rooms whose whole form is long: faults, simulation, processes, months of log time, whole published
# lists. `make test` runs their short form.
LONG := ./ofac/feed ./cluster ./cmd/railguard
LONG_BENCHES := ./chaos ./sim
OTHERS = $$($(GO) list ./... | grep -vE '/(ofac/feed|cluster|cmd/railguard)$$$$')
OTHER_BENCHES = $$($(GO) -C bench list ./... | grep -vE '/(chaos|sim)$$$$')
SIM := GOGC=800 GODEBUG=tracebacklabels=1

.PHONY: help build build-bench module-path judge judge-node run quick test test-ci test-all coverage race house lint fuzz walk bench soak bench-go golden golden-release conformance redteam names-eval sim mutants overspend rejoin scale backtest retro chaos-short chaos-mixed chaos screenshots image release release-key release-check

# Tools have a module of their own, so that their dependencies are not the service's.
TOOL := $(GO) tool -modfile=.ci/tools/go.mod
# What `make quick` tests: the rooms that decide, in their short form.
QUICK := . ./engine/... ./fsm/... ./audit/... ./ofac ./ofac/list ./ofac/text ./ofac/index ./ofac/match ./ofac/families ./ofac/perfect ./ofac/wallet ./strictjson ./seal ./edge ./httpapi ./httpapi/border ./httpapi/evidence ./httpapi/rulebook ./httpapi/operations
# What a release holds. Nothing of the machine goes into a binary.
TARGETS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
DIST    ?= dist
RELEASE := CGO_ENABLED=0 GOFLAGS=-mod=readonly GOAMD64=v1 GOARM64=v8.0

help: ## Print this
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: judge build-bench ## Build bin/railguard and bin/railguard-bench
	$(GO) build $(PROFILE) -trimpath -ldflags '$(LDFLAGS)' -o bin/railguard ./cmd/railguard

build-bench: # Build bin/railguard-bench
	$(GO) -C bench build -trimpath -o ../bin/railguard-bench ./cmd/railguard-bench

judge: ## Make the page that judges a bundle again in a browser, for the binary: cmd/railguard-judge in WebAssembly
	$(GO) run ./.ci/judge -version $(VERSION)

judge-node: ## Run the tests of the second judge as WebAssembly (needs node)
	GOOS=js GOARCH=wasm $(GO) test -short -exec "$$($(GO) env GOROOT)/lib/wasm/go_js_wasm_exec" ./cmd/railguard-judge ./audit/bundle ./audit/examine

run: build ## Build and run a development cluster
	./bin/railguard dev --nodes $(or $(NODES),3) $(ARGS)

quick: ## Build, vet, house law and the short tests that matter
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) test -short -timeout 5m $(QUICK)

test: ## Run all tests, those of the benches and of the Go client too; of the rooms in LONG and LONG_BENCHES their short form
	failed=; \
	$(GO) test -timeout 30m -short $(LONG) & long=$$!; \
	$(GO) test -timeout 30m $(OTHERS) || failed=1; \
	wait $$long || failed=1; \
	$(BENCH) -timeout 30m $(OTHER_BENCHES) || failed=1; \
	$(BENCH) -timeout 30m -short $(LONG_BENCHES) || failed=1; \
	(cd client && $(GO) test ./...) || failed=1; \
	[ -z "$$failed" ]

# In one go on two processors everything takes an hour. CI leaves out the tests of cmd/railguard that count every
# failed call over elections, for minutes: they have the machine to themselves, and no simulation beside them. Of
# bench/chaos it takes the short form. Run test-all before a release.
CI_LATER := ^Test(BalancersHideElections|HAProxyHidesRestarts|NginxHidesRestarts|OperatorsWalk|RollingUpgrade|ClusterSecretIsExchanged|FormerSecretIsRemoved)$$
test-ci: ## Run all tests as CI does: whole but for CI_LATER and the faults of bench/chaos, which are short (SEEDS as for sim)
	failed=; \
	$(SIM) $(if $(SEEDS),RAILGUARD_SIM_SEEDS=$(SEEDS)) nice -n 19 $(BENCH) -timeout 60m ./sim & simulated=$$!; \
	$(GO) test -timeout 30m $$($(GO) list ./... | grep -v '/cmd/railguard$$') || failed=1; \
	$(GO) test -timeout 30m -skip '$(CI_LATER)' ./cmd/railguard || failed=1; \
	$(BENCH) -timeout 30m $(OTHER_BENCHES) || failed=1; \
	$(BENCH) -timeout 30m -short ./chaos || failed=1; \
	wait $$simulated || failed=1; \
	(cd client && $(GO) test ./...) || failed=1; \
	[ -z "$$failed" ]

test-all: ## Run all tests in their whole form (SEEDS as for sim)
	failed=; \
	$(GO) test -timeout 30m ./... || failed=1; \
	$(SIM) $(if $(SEEDS),RAILGUARD_SIM_SEEDS=$(SEEDS)) nice -n 19 $(BENCH) -timeout 60m ./sim & simulated=$$!; \
	$(BENCH) -timeout 30m $(OTHER_BENCHES) || failed=1; \
	$(BENCH) -timeout 30m ./chaos || failed=1; \
	wait $$simulated || failed=1; \
	(cd client && $(GO) test ./...) || failed=1; \
	[ -z "$$failed" ]

module-path: ## Give the Go client another module path (TO=example.org/payments/client)
	$(GO) run ./.ci/modulepath $(TO)

coverage: ## Hold the rooms that decide to tests of their own: 80 percent of their statements
	.ci/coverage

race: ## Run the tests of everything concurrent under the race detector
	failed=; \
	export CGO_ENABLED=1; \
	raft=$$(.ci/racefree bin/race) || exit 1; \
	$(GO) test -race $$raft -short -timeout 20m -skip '$(RACE_ALONE)' ./audit ./httpapi ./httpapi/border ./httpapi/lanes ./httpapi/x402 ./httpapi/mcp ./httpapi/cosigning ./webhooks ./audit/watch ./audit/witness ./edge ./edge/retrace ./cluster/timing ./engine/credential ./ofac/keeper ./cluster/port ./cluster/datadir ./cluster/recovery ./cluster/backup/schedule || failed=1; \
	$(GO) test -race $$raft -short -timeout 20m -skip '$(RACE_SKIP)' ./cluster || failed=1; \
	[ -z "$$failed" ]

house: ## Check the house law alone
	$(GO) test -run . .

lint: ## Run the linters of .golangci.yml (staticcheck among them); the first run builds them, 2 minutes
	$(TOOL) golangci-lint run --allow-parallel-runners ./...
	$(TOOL) golangci-lint run --allow-parallel-runners ./.ci/sbom ./.ci/judge ./.ci/modulepath
	cd bench && $(GO) tool -modfile=../.ci/tools/go.mod golangci-lint run --allow-parallel-runners ./...

fuzz: ## Run every fuzz target for FUZZ (10s) each
	@.ci/fuzz $(FUZZ)

walk: ## Walk over the API's document: WALK (20000) calls, valid and spoilt
	$(GO) test ./httpapi -run TestWalkOverTheDocument -count=1 -timeout 10m -args -walk=$(WALK)

bench: build ## Measure under load against targets, 15 minutes (ARGS, such as --suite cluster --out a.json)
	./bin/railguard-bench --folder . $(ARGS)

soak: build ## Ten minutes at 60 % of saturation, with lists, snapshots, screenings of the past and backtests meanwhile (ARGS='--html soak.html' draws it)
	./bin/railguard-bench --folder . --suite soak $(ARGS)

bench-go: ## Run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./engine/... ./ofac ./ofac/match ./fsm ./audit ./httpapi

golden: ## Rewrite transcripts and generated documents; read the diff before you keep it
	$(GO) test ./engine ./fsm/leaf ./httpapi/openapi -update && $(GO) test ./httpapi -update && $(GO) test ./cmd/railguard -run TestCommandReference -update

golden-release: ## Keep what this VERSION writes (evidence, log, snapshot) for every later release to read
	$(GO) test -count=1 ./cmd/railguard -run TestEveryReleaseIsRead -release $(VERSION)

conformance: ## Check the binary against every statement of the specification
	$(BENCH) -count=1 -v ./conformance

redteam: ## Attack a cluster of three nodes as agent, tenant, caller, insider, mirror and examiner's adversary: held or fell (ONLY=names)
	RAILGUARD_REDTEAM=long $(BENCH) -count=1 -v -timeout 30m ./redteam -args -attacks '$(ONLY)'

names-eval: build-bench ## Measure the name matcher on labelled names
	./bin/railguard-bench names

sim: ## Run SEEDS (2000) schedules of simulated faults, and the overspend race a thousand times
	$(SIM) RAILGUARD_SIM_SEEDS=$(or $(SEEDS),2000) $(BENCH) -count=1 -timeout 30m -run 'TestSchedules|TestLimit' ./sim

mutants: ## Put known defects into a copy of the tree, one at a time: each must be caught by its test (ONLY=expression)
	$(GO) -C bench run ./mutants -only '$(ONLY)'

overspend: ## The overspend race with real processes, RACES (1000) times, the leader killed in each
	RAILGUARD_N1=$(or $(RACES),1000) $(BENCH) -count=1 -v -timeout 3h -run TestN1Repeated ./chaos

rejoin: ## A wiped node comes back among 100,000 agents and 5,000,000 records
	RAILGUARD_REJOIN_AGENTS=100000 RAILGUARD_REJOIN_RECORDS=5000000 $(GO) test ./cluster -run '^$$' -bench Rejoin -benchtime 1x -timeout 2h

scale: ## What 2,000,000 agents (AGENTS) cost: memory, snapshot, restore, digest, freeze
	GOGC=40 GOMEMLIMIT=7GiB RAILGUARD_SCALE_AGENTS=$(or $(AGENTS),2000000) $(GO) test ./fsm -run '^$$' -bench Scale -benchtime 1x -timeout 1h

retro: ## Retro-screening of RECORDS (1,000,000) against the difference of two published lists
	RAILGUARD_RETRO_RECORDS=$(or $(RECORDS),1000000) $(GO) test ./httpapi -run 'RetroOfRealLists' -count=1 -v -timeout 2h

backtest: ## A backtest of RECORDS (100,000) calls with what was live: no difference
	RAILGUARD_BACKTEST_RECORDS=$(or $(RECORDS),100000) $(GO) test ./httpapi -run 'BacktestOfWhatWasLive' -count=1 -v -timeout 1h

chaos-short: ## Every fault scenario with real processes, short form
	RAILGUARD_CHAOS=short $(BENCH) -count=1 -v ./chaos

chaos-mixed: ## The same with clusters of this release and the next one, each start of a node from one to the other (ONLY=expression)
	RAILGUARD_CHAOS_MIXED=1 RAILGUARD_CHAOS=short $(BENCH) -count=1 -v -timeout 2h $(if $(ONLY),-run '$(ONLY)') ./chaos

chaos: ## Long fault tests with real processes
	RAILGUARD_CHAOS=long $(BENCH) -count=1 -v -timeout 4h ./chaos

screenshots: ## Draw the console's pages, light and dark, into docs/images (needs Chromium)
	@mkdir -p docs/images
	RAILGUARD_SCREENSHOTS=$(CURDIR)/docs/images $(GO) test -count=1 -timeout 15m -run TestScreenshots ./console

release: ## Static binaries of VERSION for TARGETS in DIST (dist/), the page of the second judge, checksums, signed with KEY, and a bill of materials
	@rm -rf $(DIST) && mkdir -p $(DIST)
	@$(RELEASE) $(GO) run ./.ci/judge -version $(VERSION) -page $(abspath $(DIST))/railguard-$(VERSION)-judge.html
	@for target in $(TARGETS); do \
	  os=$${target%/*}; arch=$${target#*/}; name=railguard-$(VERSION)-$$os-$$arch; echo "$$name"; \
	  $(RELEASE) GOOS=$$os GOARCH=$$arch $(GO) build $(PROFILE) -trimpath -buildvcs=false -ldflags '-s -w -buildid= $(LDFLAGS)' -o $(DIST)/$$name ./cmd/railguard && \
	  $(GO) run ./.ci/sbom -version $(VERSION) $(DIST)/$$name > $(DIST)/$$name.cdx.json || exit 1; \
	done
	@cp NOTICE LICENSE $(DIST)
	@cd $(DIST) && sha256sum railguard-* NOTICE LICENSE > SHA256SUMS && cat SHA256SUMS
	@[ -z "$(KEY)" ] || $(TOOL) minisign -S -s $(abspath $(KEY)) $(if $(UNLOCKED),-W) -t "railguard $(VERSION)" -m $(abspath $(DIST))/SHA256SUMS

release-key: ## Make the pair of keys that signs releases (KEY=secret file, kept off the repository; the public half becomes docs/release.pub)
	$(TOOL) minisign -G -s $(KEY) -p docs/release.pub

image: ## Build the container image and start it: with Docker, else by the Dockerfile's own steps (needs root)
	if docker info >/dev/null 2>&1; then \
	  docker build -f deploy/docker/Dockerfile --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t railguard:$(VERSION) . && \
	  docker run --rm railguard:$(VERSION) version; \
	else \
	  $(GO) -C .ci/image build -o $(CURDIR)/bin/image . && ./bin/image -version $(VERSION) -commit $(COMMIT); \
	fi

release-check: ## Build a release twice, the second time in another folder with an empty cache, compare, and check a signature
	@work=$$(mktemp -d) && trap 'chmod -R u+w '$$work' && rm -rf '$$work EXIT && \
	$(TOOL) minisign -G -W -s $$work/key -p $$work/key.pub >/dev/null && \
	$(MAKE) --no-print-directory release DIST=$$work/first KEY=$$work/key UNLOCKED=yes && \
	$(TOOL) minisign -V -p $$work/key.pub -m $$work/first/SHA256SUMS && \
	mkdir $$work/source && git ls-files -z | tar -c --null -T - | tar -x -C $$work/source && \
	GOCACHE=$$work/cache $(MAKE) --no-print-directory -C $$work/source release COMMIT=$(COMMIT) DIST=$$work/second && \
	diff $$work/first/SHA256SUMS $$work/second/SHA256SUMS && echo "the same bytes twice"
