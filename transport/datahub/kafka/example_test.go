package kafka_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// Proposals are queued by Emit; the callback says what became of each, and Flush waits for all.
func Example() {
	bootstrap, registry, stop := servers()

	config, warnings, err := kafka.NewConfig(map[string]any{
		"connection": map[string]any{
			"bootstrap":           bootstrap,
			"schema_registry_url": registry,
			"producer_config":     map[string]any{"compression.type": "zstd", "message.timeout.ms": 60_000},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, warning := range warnings {
		log.Print(warning)
	}
	emitter, err := kafka.New(config, kafka.Options{UserAgent: "my-program/1.0"})
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	emitter.Emit(ctx, mcp.Proposal{
		EntityType: "dataset",
		EntityURN:  "urn:li:dataset:(urn:li:dataPlatform:bigquery,my-project.my-dataset.user-table,PROD)",
		ChangeType: mcp.ChangeUpsert,
		AspectName: "datasetProperties",
		Aspect:     []byte(`{"description": "This table stores the canonical user profile", "customProperties": {}, "tags": []}`),
	}, func(d kafka.Delivery, err error) {
		if err != nil {
			fmt.Println("not delivered:", err)
			return
		}
		fmt.Printf("in %s, partition %d, offset %d\n", d.Topic, d.Partition, d.Offset)
	})
	if err := emitter.Flush(ctx); err != nil {
		log.Print(err) // says how many proposals have no outcome yet
	}
	if err := emitter.Close(ctx); err != nil {
		log.Print(err)
	}
	stop()
	// Output: in MetadataChangeProposal_v1, partition 0, offset 0
}

// servers stand in for a broker and a registry.
func servers() (bootstrap, registryURL string, stop func()) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, kafka.DefaultTopic))
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(&registry{status: 200, body: `{"id": 1}`})
	return broker.ListenAddrs()[0], server.URL, func() {
		broker.Close()
		server.Close()
	}
}
