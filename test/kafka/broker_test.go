package kafka_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/test/rig"
)

// The broker's only user beside those who come without a login, and may do everything.
const user, password = "listener", "l1stener-pass"

// broker is a real one with a listener for each way in.
type broker struct {
	libs, dir                              string
	plain, login, secure, mutual, internal int // ports

	mu      sync.Mutex
	running *exec.Cmd
	ended   chan struct{}
	log     bytes.Buffer
}

// start returns the broker that the process's tests share.
func start(t *testing.T) *broker {
	t.Helper()
	libs := os.Getenv("KAFKA_LIBS")
	if libs == "" {
		rig.Skip(t, "no Kafka: set KAFKA_LIBS to a folder with its jars")
	}
	once.Do(func() {
		shared = &broker{libs: libs, dir: mustDir()}
		ports := []*int{&shared.plain, &shared.login, &shared.secure, &shared.mutual, &shared.internal}
		for i, port := range rig.FreePorts(t, len(ports)) {
			*ports[i] = port
		}
		certificates(t, shared.dir)
		shared.format(t)
		shared.up(t)
		shared.fill(t)
	})
	if t.Failed() || shared.running == nil {
		t.Fatal("Kafka did not start")
	}
	return shared
}

var (
	once   sync.Once
	shared *broker
)

func mustDir() string {
	dir, err := os.MkdirTemp("", "listener-kafka-")
	if err != nil {
		panic(err)
	}
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.down()
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

func (b *broker) address() string { return fmt.Sprintf("127.0.0.1:%d", b.plain) }

// properties are the broker's settings.
func (b *broker) properties() string {
	at := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	listeners := map[string]int{"PLAIN": b.plain, "LOGIN": b.login, "SECURE": b.secure, "MUTUAL": b.mutual}
	var all, advertised []string
	for name, port := range listeners {
		all = append(all, name+"://"+at(port))
		advertised = append(advertised, name+"://"+at(port))
	}
	module := "org.apache.kafka.common.security."
	lines := []string{
		"process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@" + at(b.internal),
		"listeners=" + strings.Join(all, ",") + ",CONTROLLER://" + at(b.internal),
		"advertised.listeners=" + strings.Join(advertised, ","),
		"controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAIN",
		"listener.security.protocol.map=PLAIN:PLAINTEXT,LOGIN:SASL_PLAINTEXT,SECURE:SASL_SSL,MUTUAL:SSL,CONTROLLER:PLAINTEXT",
		"log.dirs=" + filepath.Join(b.dir, "data"), "num.partitions=3", "offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"auto.create.topics.enable=false",
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS", "allow.everyone.if.no.acl.found=true",
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		"ssl.keystore.type=PEM", "ssl.keystore.location=" + filepath.Join(b.dir, "server.pem"),
		"ssl.truststore.type=PEM", "ssl.truststore.location=" + filepath.Join(b.dir, "ca.pem"),
		"listener.name.mutual.ssl.client.auth=required",
	}
	for _, name := range []string{"login", "secure"} {
		prefix := "listener.name." + name + "."
		lines = append(lines,
			prefix+"plain.sasl.jaas.config="+module+`plain.PlainLoginModule required user_`+user+`="`+password+`";`,
			prefix+"scram-sha-256.sasl.jaas.config="+module+"scram.ScramLoginModule required;",
			prefix+"scram-sha-512.sasl.jaas.config="+module+"scram.ScramLoginModule required;",
			prefix+"oauthbearer.sasl.jaas.config="+module+`oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (b *broker) java(args ...string) *exec.Cmd {
	all := append([]string{"-Xmx384m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", filepath.Join(b.libs, "*")}, args...)
	return exec.Command("java", all...)
}

func (b *broker) format(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "server.properties"), []byte(b.properties()), 0o600); err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	id[0] &= 0x7f // an id that begins with a dash is taken for an option
	cmd := b.java("kafka.tools.StorageTool", "format", "-t", base64.RawURLEncoding.EncodeToString(id), "-c", "server.properties")
	cmd.Dir = b.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("preparing Kafka: %v\n%s", err, out)
	}
}

// up starts the broker and waits until it answers.
func (b *broker) up(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	cmd := b.java("kafka.Kafka", "server.properties")
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dir, &b.log, &b.log
	if err := cmd.Start(); err != nil {
		b.mu.Unlock()
		t.Fatalf("starting Kafka: %v", err)
	}
	ended := make(chan struct{})
	b.running, b.ended = cmd, ended
	b.mu.Unlock()
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	rig.Eventually(t, 5*time.Minute, "Kafka answers", func() bool {
		select {
		case <-ended:
			t.Fatalf("Kafka ended:\n%s", b.log.String())
		default:
		}
		conn, err := net.DialTimeout("tcp", b.address(), time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		client := b.client(t)
		defer client.Close()
		_, err = kadm.NewClient(client).ListTopics(ctx)
		return err == nil
	})
}

// down ends the broker as a power cut would.
func (b *broker) down() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running != nil {
		_ = b.running.Process.Kill()
		<-b.ended
		b.running = nil
	}
}

func (b *broker) client(t *testing.T) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address()))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// fill makes users, topics and rights.
func (b *broker) fill(t *testing.T) {
	t.Helper()
	client := b.client(t)
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		one := []kadm.UpsertSCRAM{{User: user, Mechanism: mechanism, Iterations: 4096, Password: password}}
		if altered, err := admin.AlterUserSCRAMs(ctx, nil, one); err != nil || altered.Error() != nil {
			t.Fatalf("making a user: %v %v", err, altered.Error())
		}
	}
	for topic, configs := range map[string]map[string]*string{
		lineage: nil, "closed": nil, "tiny": {"max.message.bytes": new("2000")}, "runs": nil,
	} {
		if _, err := admin.CreateTopic(ctx, partitions, 1, configs, topic); err != nil {
			t.Fatalf("making topic %s: %v", topic, err)
		}
	}
	rights := kadm.NewACLs().Topics("closed").Allow("User:somebody-else").AllowHosts().
		Operations(kadm.OpWrite).ResourcePatternType(kadm.ACLPatternLiteral)
	if _, err := admin.CreateACLs(ctx, rights); err != nil {
		t.Fatalf("making rights: %v", err)
	}
	// The broker learns of all this a moment after it was agreed on.
	rig.Eventually(t, 4*time.Minute, "topics and rights are known", func() bool {
		topics, err := admin.ListTopics(ctx)
		if err != nil || len(topics.Names()) < 4 {
			return false
		}
		denied, _ := build(t, "closed", m{
			"bootstrap.servers": fmt.Sprintf("127.0.0.1:%d", b.login), "security.protocol": "sasl_plaintext",
			"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password,
		})
		_, err = denied.Probe(ctx)
		return err != nil
	})
}

const (
	lineage    = "lineage"
	partitions = 12
)
