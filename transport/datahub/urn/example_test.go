package urn_test

import (
	"fmt"

	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

func ExampleDataset() {
	text, err := urn.Dataset("snowflake", "eu", "shop.public.orders (2026)", "prod").URN()
	fmt.Println(text, err)
	key, err := urn.ParseDataset(text)
	fmt.Println(key.Platform, key.Name, key.Env, err)
	// Output:
	// urn:li:dataset:(urn:li:dataPlatform:snowflake,eu.shop.public.orders %282026%29,PROD) <nil>
	// snowflake eu.shop.public.orders (2026) PROD <nil>
}

func ExampleDataJobKey() {
	job := urn.DataJobKey{Flow: urn.DataFlow("prefect", "", "nightly", "PROD"), Job: "load-3f2a"}
	fmt.Println(job.URN())
	// Output: urn:li:dataJob:(urn:li:dataFlow:(prefect,nightly,PROD),load-3f2a) <nil>
}
