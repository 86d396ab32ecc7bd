package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
)

// Every base of the image is pinned, and stands for all platforms.
func TestImagesBases(t *testing.T) {
	t.Parallel()
	text := read(t, "Dockerfile")
	_, last, _ := strings.Cut(text, "FROM $BASE_IMAGE")
	if release := read(t, "deploy", "image", "Dockerfile"); last == "" || !strings.HasSuffix(release, last) ||
		!strings.Contains(text, regexp.MustCompile(`(?m)^ARG BASE_IMAGE=.+$`).FindString(release)) {
		t.Error("a release's image is another one than the Dockerfile's")
	}
	pinned := regexp.MustCompile(`(?m)^ARG \w+_IMAGE=\S+@sha256:[0-9a-f]{64}$`)
	if n := len(pinned.FindAllString(text, -1)); n != 2 {
		t.Errorf("%d pinned bases", n)
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(from[1], "$") && from[1] != "scratch" {
			t.Errorf("the base %s is no variable, so it can't be another one", from[1])
		}
	}
}

// builder builds images without a Docker engine, and without a network where the modules are there already.
type builder struct {
	t       *testing.T
	buildah string
	dir     string
}

func newBuilder(t *testing.T) *builder {
	t.Helper()
	if os.Getuid() != 0 {
		rig.Skip(t, "images are built as root here")
	}
	b := &builder{t: t, buildah: installed(t, "buildah"), dir: t.TempDir()}
	b.write("policy.json", `{"default": [{"type": "insecureAcceptAnything"}]}`)
	b.write("registries.conf", "")
	return b
}

func (b *builder) write(name, text string) string {
	b.t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return file
}

// call calls buildah with a storage of its own.
func (b *builder) call(args ...string) string {
	b.t.Helper()
	cmd := command(b.buildah, append([]string{
		"--storage-driver", "vfs", "--root", filepath.Join(b.dir, "storage"), "--runroot", filepath.Join(b.dir, "run"),
		"--registries-conf", filepath.Join(b.dir, "registries.conf"),
	}, args...)...)
	return strings.TrimSpace(output(b.t, cmd))
}

func (b *builder) build(args ...string) {
	b.t.Helper()
	b.call(append([]string{
		"build", "--isolation", "chroot", "--format", "docker", "--pull-never", "--quiet",
		"--signature-policy", filepath.Join(b.dir, "policy.json"),
	}, args...)...)
}

// bases makes the stand-ins of the two bases, which can't be had where no registry is: one with a shell, to which the
// machine's own Go is mounted, and one with no more than a user.
func (b *builder) bases() {
	b.t.Helper()
	busybox := installed(b.t, "busybox")
	copied, err := os.ReadFile(busybox)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write("go/busybox", string(copied))
	if err := os.Chmod(filepath.Join(b.dir, "go", "busybox"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.write("go/Dockerfile", "FROM scratch\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\n"+
		"WORKDIR /tmp\nENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOCACHE=/cache GOPROXY=off GOFLAGS=-mod=mod HOME=/\n")
	b.build("--tag", "localhost/go", filepath.Join(b.dir, "go"))
	b.write("base/passwd", "nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")
	b.write("base/Dockerfile", "FROM scratch\nCOPY passwd /etc/passwd\nUSER 65532\n")
	b.build("--tag", "localhost/base", filepath.Join(b.dir, "base"))
}

// imageConfig is what an image says of how it runs.
type imageConfig struct {
	User                 string
	Env, Entrypoint, Cmd []string
	Labels               map[string]string
	Volumes              map[string]any
	Healthcheck          struct{ Test []string }
}

// image builds the Dockerfile and returns its file system and what it says of itself.
func (b *builder) image(args ...string) (root string, config imageConfig) {
	b.t.Helper()
	b.build(append([]string{
		"--tag", "localhost/listener", "--build-arg", "GO_IMAGE=localhost/go", "--build-arg", "BASE_IMAGE=localhost/base",
		"--build-arg", "TARGETOS=linux", "--build-arg", "TARGETARCH=" + runtime.GOARCH, "--build-arg", "VERSION=7.8.9", "--build-arg", "COMMIT=c0ffee", "--build-arg", "DATE=2026-11-30T10:00:00Z",
	}, args...)...)
	var inspected struct{ Docker struct{ Config imageConfig } }
	if err := json.Unmarshal([]byte(b.call("inspect", "--type", "image", "localhost/listener")), &inspected); err != nil {
		b.t.Fatal(err)
	}
	container := b.call("from", "--pull-never", "--signature-policy", filepath.Join(b.dir, "policy.json"), "localhost/listener")
	root = b.call("mount", container)
	b.t.Cleanup(func() { b.call("umount", container) })
	return root, inspected.Docker.Config
}

// TestImage builds the Dockerfile, once from the sources and once from a binary as a release does, and runs what is in it
// as its user on a root that can't be written.
func TestImage(t *testing.T) {
	b := newBuilder(t)
	unshare, chroot := installed(t, "unshare"), installed(t, "chroot")
	b.bases()
	goEnv := func(name string) string { return strings.TrimSpace(output(t, command("go", "env", name))) }
	t.Run("from the sources", func(t *testing.T) {
		b.t = t
		output(t, command("go", "mod", "download")) // all that the build asks for is there then, and it needs no network
		root, config := b.image(
			"--volume", goEnv("GOROOT")+":/usr/local/go:ro", "--volume", goEnv("GOMODCACHE")+":/go/pkg/mod",
			"--volume", goEnv("GOCACHE")+":/cache", rig.Root())
		runImage(t, root, config, unshare, chroot)
	})
	t.Run("from a binary", func(t *testing.T) {
		b.t = t
		context := filepath.Join(b.dir, "context")
		platform := filepath.Join(context, "linux", runtime.GOARCH)
		if err := os.MkdirAll(platform, 0o755); err != nil {
			t.Fatal(err)
		}
		output(t, command("cp", rig.Binary(t), filepath.Join(platform, "listener")))
		root, config := b.image("--file", path("deploy", "image", "Dockerfile"), context)
		runImage(t, root, config, unshare, chroot)
	})
}

// runImage runs an image's file system as a container engine would.
func runImage(t *testing.T, root string, config imageConfig, unshare, chroot string) {
	t.Helper()
	if config.User != "65532:65532" || !slices.Equal(config.Entrypoint, []string{"/usr/local/bin/listener"}) || !slices.Equal(config.Cmd, []string{"run"}) {
		t.Errorf("user %s, entrypoint %v, command %v", config.User, config.Entrypoint, config.Cmd)
	}
	if config.Labels["org.opencontainers.image.version"] != "7.8.9" || config.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
		t.Errorf("labels %v", config.Labels)
	}
	if _, ok := config.Volumes["/var/lib/listener"]; !ok || len(config.Healthcheck.Test) < 2 {
		t.Fatalf("volumes %v, health check %v", config.Volumes, config.Healthcheck.Test)
	}
	state := filepath.Join(t.TempDir(), "state")
	// A new volume gets the files and the owner of the image's folder.
	output(t, command("cp", "-a", filepath.Join(root, "var", "lib", "listener"), state))
	server := prefecttest.NewTCP(t)
	env := append(slices.Clone(config.Env), "PREFECT_API_URL="+server.URL, "LISTENER_HTTP_ADDR=127.0.0.1:"+strconv.Itoa(rig.FreePort(t)))
	// In a mount namespace of its own: the root read-only, the volume on it, nothing else; then the user, and the command.
	call := func(args ...string) *exec.Cmd {
		script := `set -e; mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; mount --bind "$2" "$1/var/lib/listener"; root=$1; user=$3; shift 3; exec ` +
			chroot + ` --userspec="$user" "$root" "$@"`
		cmd := command(unshare, append([]string{"--mount", "--propagation", "private", "sh", "-c", script, "sh", root, state, config.User}, args...)...)
		cmd.Env = env
		return cmd
	}
	daemon := call(append(slices.Clone(config.Entrypoint), config.Cmd...)...)
	var log strings.Builder
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	defer func() { _ = daemon.Process.Kill() }()
	var last string
	rig.Eventually(t, 30*time.Second, "the listener in the image is ready", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, log.String())
		default:
		}
		out, err := call("/usr/local/bin/listener", "healthcheck", "--ready").CombinedOutput()
		last = string(out)
		return err == nil
	})
	// The health check of the image itself, without the word CMD.
	if out := output(t, call(config.Healthcheck.Test[1:]...)); out != "alive\n" {
		t.Errorf("the image's health check says %q (before: %s)", out, last)
	}
	if out := output(t, call("/usr/local/bin/listener", "status")); !strings.Contains(out, "/var/lib/listener/listener.db") {
		t.Errorf("the store is elsewhere:\n%s", out)
	}
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, log.String())
	}
	if left, err := os.Stat(filepath.Join(state, "listener.db")); err != nil || left.Size() == 0 {
		t.Errorf("the store: %v", err)
	}
}
