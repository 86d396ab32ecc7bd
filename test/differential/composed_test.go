package differential_test

import (
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// compositeConfigurations tell their children apart by the endpoint.
func compositeConfigurations() []configuration {
	const (
		a = "{type: http, url: $SINK, endpoint: a}"
		b = "{type: http, url: $SINK, endpoint: b}"
		c = "{type: http, url: $SINK, endpoint: c}"
	)
	composite := func(name, keys string) configuration {
		return configuration{name: name, yaml: viaKind("composite", keys)}
	}
	// The first child refuses the event for good.
	refusing := func(name, keys string) configuration {
		made := composite(name, keys)
		made.script = at("/a", transporttest.Status(400))
		return made
	}
	ranked := func(endpoint, priority string) string {
		return "{type: http, url: $SINK, endpoint: " + endpoint + ", priority: " + priority + "}"
	}
	return []configuration{
		composite("composite: list", "transports: ["+a+", "+b+"]"),
		composite("composite: map", "transports: {first: "+a+", second: "+b+"}"),
		composite("composite: nested", "transports: ["+a+", {type: composite, transports: {x: "+b+", y: "+c+"}}]"),
		composite("composite: child that is switched off", "transports: {first: {}, second: "+b+", third: null}"),
		composite("composite: all switched off", "transports: {first: {}}"),
		composite("composite: one child", "transports: ["+a+"]"),
		composite("composite: empty list", "transports: []"),
		composite("composite: without transports", "continue_on_failure: true"),
		composite("composite: child that is wrong", "transports: ["+a+", {type: http}]"),
		composite("composite: child without a type", "transports: ["+a+", {url: $SINK}]"),
		composite("composite: name inside a map", "transports: {first: {type: http, url: $SINK, endpoint: a, name: other}}"),
		composite("composite: the same twice", "transports: ["+a+", "+a+"]"),
		composite("composite: first success", "continue_on_success: false, transports: ["+a+", "+b+"]"),
		composite("composite: first success in a map", "continue_on_success: false, transports: {z: "+a+", y: "+b+"}"),
		composite("composite: highest priority first", "continue_on_success: false, sort_transports: true, transports: ["+
			ranked("a", "1")+", "+ranked("b", "5")+", "+c+"]"),
		composite("composite: equal priorities", "continue_on_success: false, sort_transports: true, transports: ["+
			ranked("a", "2")+", "+ranked("b", "'2'")+", "+c+"]"),
		composite("composite: negative priority", "continue_on_success: false, sort_transports: true, transports: ["+
			ranked("a", "-1")+", "+b+"]"),
		composite("composite: priority unsorted", "continue_on_success: false, transports: ["+a+", "+ranked("b", "5")+"]"),
		composite("composite: priority in words", "transports: ["+ranked("a", "high")+"]"),
		composite("composite: priority is null", "transports: ["+ranked("a", "null")+"]"),
		composite("composite: priority is a fraction", "continue_on_success: false, sort_transports: true, transports: ["+
			ranked("a", "1")+", "+ranked("b", "1.9")+"]"),
		refusing("composite: next after a failure", "continue_on_success: false, transports: ["+a+", "+b+"]"),
		refusing("composite: all in spite of a failure", "transports: ["+a+", "+b+"]"),
		refusing("composite: stop at a failure", "continue_on_failure: false, transports: ["+a+", "+b+"]"),
		refusing("composite: failure behind a success", "continue_on_failure: false, transports: ["+b+", "+a+", "+c+"]"),
		refusing("composite: both false and a failure", "continue_on_failure: false, continue_on_success: false, transports: ["+a+", "+b+"]"),
		composite("composite: both false", "continue_on_failure: false, continue_on_success: false, transports: ["+a+", "+b+"]"),
		refusing("composite: none takes it", "continue_on_success: false, transports: ["+a+"]"),
		composite("composite: of other kinds", "transports: ["+a+", {type: console}, {type: noop}, {type: file, log_file_path: $OUT/all, append: true}]"),
	}
}

// compositeVariables are composites whose children come from variables, alone and beside a file.
func compositeVariables() []configuration {
	return []configuration{
		{
			name: "composite: later names first among variables",
			env: []string{
				"OPENLINEAGE__TRANSPORT__TYPE=composite", "OPENLINEAGE__TRANSPORT__CONTINUE_ON_SUCCESS=false",
				"OPENLINEAGE__TRANSPORT__TRANSPORTS__ALPHA__TYPE=http", "OPENLINEAGE__TRANSPORT__TRANSPORTS__ALPHA__URL=$SINK",
				"OPENLINEAGE__TRANSPORT__TRANSPORTS__ALPHA__ENDPOINT=a",
				"OPENLINEAGE__TRANSPORT__TRANSPORTS__BETA__TYPE=http", "OPENLINEAGE__TRANSPORT__TRANSPORTS__BETA__URL=$SINK",
				"OPENLINEAGE__TRANSPORT__TRANSPORTS__BETA__ENDPOINT=b",
			},
		},
		{
			name: "composite: variables and file",
			yaml: viaKind("composite", "continue_on_success: false, transports: {gamma: {type: http, url: $SINK, endpoint: c}, alpha: {endpoint: z}}"),
			env: []string{
				"OPENLINEAGE__TRANSPORT__TRANSPORTS__ALPHA__TYPE=http", "OPENLINEAGE__TRANSPORT__TRANSPORTS__ALPHA__URL=$SINK",
				"OPENLINEAGE__TRANSPORT__TRANSPORTS__ALPHA__ENDPOINT=a",
			},
		},
		{
			name: "composite: switched off by a variable",
			env: []string{
				`OPENLINEAGE__TRANSPORT={"type":"composite","transports":{"a":{"type":"http","url":"$SINK","endpoint":"a"},"b":{}}}`,
			},
		},
	}
}

// transformConfigurations are the one transformer that there is.
func transformConfigurations() []configuration {
	const (
		short = "openlineage.client.transport.transform.JobNamespaceReplaceTransformer"
		long  = "openlineage.client.transport.transform.transformers.job_namespace_replace_transformer.JobNamespaceReplaceTransformer"
		inner = "transport: {type: http, url: $SINK}"
	)
	made := func(name, class, properties string) configuration {
		return configuration{
			name: "transform: " + name,
			yaml: viaKind("transform", "transformer_class: "+class+", transformer_properties: {"+properties+"}, "+inner),
		}
	}
	return []configuration{
		made("short name", short, "new_job_namespace: new"),
		made("long name", long, "new_job_namespace: 'new ü'"),
		made("without parents", short, "new_job_namespace: new, include_parent_facet: false"),
		made("without parents as text", short, "new_job_namespace: new, include_parent_facet: 'False'"),
		made("with parents as text", short, "new_job_namespace: new, include_parent_facet: 'TRUE'"),
		made("parents by another word", short, "new_job_namespace: new, include_parent_facet: 'yes'"),
		made("without a namespace", short, "include_parent_facet: true"),
		made("namespace is empty", short, "new_job_namespace: ''"),
		made("a class that there is not", "my.package.Transformer", "new_job_namespace: new"),
		{name: "transform: without a class", yaml: viaKind("transform", inner)},
		{name: "transform: without a transport", yaml: viaKind("transform", "transformer_class: "+short+", transformer_properties: {new_job_namespace: new}")},
		{
			name: "transform: for one of two",
			yaml: viaKind("composite", "transports: [{type: http, url: $SINK, endpoint: a}, {type: transform, transformer_class: "+short+
				", transformer_properties: {new_job_namespace: new}, transport: {type: http, url: $SINK, endpoint: b}}]"),
		},
		{
			name: "transform: over two",
			yaml: viaKind("transform", "transformer_class: "+short+", transformer_properties: {new_job_namespace: new}, transport: "+
				"{type: composite, transports: [{type: http, url: $SINK, endpoint: a}, {type: file, log_file_path: $OUT/e, append: true}]}"),
		},
	}
}

// fileConfigurations are file, console and noop.
func fileConfigurations() []configuration {
	file := func(name, keys string) configuration {
		return configuration{name: "file: " + name, yaml: viaKind("file", keys)}
	}
	return []configuration{
		file("append", "log_file_path: $OUT/all.ndjson, append: true"),
		file("one for each event", "log_file_path: $OUT/event"),
		file("one for each event with an ending", "log_file_path: $OUT/event.json, append: false"),
		file("debug names", "log_file_path: $OUT/event, debug_mode: true"),
		file("debug names do not count with append", "log_file_path: $OUT/all, append: true, debug_mode: true"),
		file("address", "log_file_path: 'file://$OUT/all', append: true"),
		file("address of this host", "log_file_path: 'file://localhost$OUT/all', append: true"),
		file("address with signs", "log_file_path: 'file://$OUT/a%20b', append: true"),
		file("relative", "log_file_path: ../out/all, append: true"),
		file("with signs", "log_file_path: '$OUT/ä b#c', append: true"),
		file("in a folder that is not there", "log_file_path: $OUT/deep/er/all, append: true"),
		file("without a path", "append: true"),
		file("options", "log_file_path: $OUT/all, append: true, storage_options: {a: b}, fs_kwargs: {c: d}"),
		file("elsewhere", "log_file_path: 's3://bucket/all'"),
		file("by a class", "log_file_path: $OUT/all, filesystem: fsspec.LocalFileSystem"),
		file("append as text", "log_file_path: $OUT/all, append: 'true'"),
		file("append as a number", "log_file_path: $OUT/all, append: 1"),
		{name: "console", yaml: "transport: {type: console}\n"},
		{name: "console with keys", yaml: "transport: {type: console, name: c, priority: 3, color: green}\n"},
		{name: "noop", yaml: "transport: {type: noop}\n"},
		{name: "type in capitals", yaml: "transport: {type: HTTP, url: $SINK}\n"},
		{name: "type that there is not", yaml: "transport: {type: nope}\n"},
		{name: "type that is a class", yaml: "transport: {type: my.package.Transport}\n"},
	}
}
