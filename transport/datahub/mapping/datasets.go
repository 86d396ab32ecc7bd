package mapping

import (
	"cmp"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// dataset is a dataset as DataHub knows it.
type dataset struct {
	urn      string
	platform string // a URN
	instance string // a URN; "" when the platform has only one
	name     string
	env      string
	facets   facets
}

// aliases are DataHub's names of platforms that OpenLineage calls otherwise.
func aliases(scheme string) string {
	switch scheme {
	case "sqlserver":
		return "mssql"
	case "awsathena":
		return "athena"
	default:
		return scheme
	}
}

// fileSystems are the schemes whose datasets are named by their path, bucket included, with DataHub's name of each.
func fileSystems(scheme string) (string, bool) {
	switch scheme {
	case "s3", "s3a", "s3n":
		return "s3", true
	case "gs", "gcs":
		return "gcs", true
	case "abfs", "abfss", "wasb", "wasbs":
		return "abs", true
	case "dbfs", "file":
		return scheme, true
	default:
		return "", false
	}
}

// datasetOf names a dataset. Its error says why DataHub can't have it.
func (m Mapper) datasetOf(raw rawDataset) (dataset, error) {
	platform, name := locate(tableName(raw))
	d := dataset{env: m.settings.Env, facets: raw.Facets}
	instance := ""
	if rule, groups := m.rule(raw.Namespace); rule != nil {
		expand := func(template string) string {
			return string(rule.Namespace.ExpandString(nil, template, raw.Namespace, groups))
		}
		platform, d.env = cmp.Or(rule.Platform, platform), cmp.Or(rule.Env, d.env)
		instance, name = expand(rule.Instance), expand(rule.NamePrefix)+name
		if rule.LowerCase {
			name = strings.ToLower(name)
		}
	}
	var err error
	if d.platform, err = urn.DataPlatform(platform); err != nil {
		return dataset{}, err
	}
	key := urn.Dataset(platform, instance, name, d.env)
	d.name = key.Name
	if instance != "" {
		if d.instance, err = checked(urn.DataPlatformInstanceKey{Platform: platform, Instance: instance}.URN()); err != nil {
			return dataset{}, err
		}
	}
	d.urn, err = checked(key.URN())
	return d, err
}

// rule returns the first rule for a namespace and what its groups matched; nil: none.
func (m Mapper) rule(namespace string) (*Rule, []int) {
	for i := range m.settings.Datasets {
		if groups := m.settings.Datasets[i].Namespace.FindStringSubmatchIndex(namespace); groups != nil {
			return &m.settings.Datasets[i], groups
		}
	}
	return nil, nil
}

// tableName returns the name under which DataHub's endpoint files a dataset: that of the table where the dataset is
// the storage behind a table of a catalogue.
func tableName(raw rawDataset) (namespace, name string) {
	namespace, name = raw.Namespace, raw.Name
	for _, link := range read[openlineage.SymlinksDatasetFacet](raw.Facets, "symlinks").Identifiers {
		if link.Type != "TABLE" || link.Name == "" {
			continue
		}
		namespace = "hive"
		if isGlue(link.Namespace) {
			namespace = "glue"
		}
		name = dotted(link.Name)
	}
	return namespace, name
}

func isGlue(namespace string) bool {
	return strings.HasPrefix(namespace, "arn:aws:glue:") || strings.HasPrefix(namespace, "aws:glue:")
}

// dotted makes db.t of table/db/t, which is how Glue's tables are named in OpenLineage.
func dotted(name string) string {
	if table, ok := strings.CutPrefix(name, "table/"); ok {
		return strings.ReplaceAll(table, "/", ".")
	}
	return name
}

// locate returns DataHub's platform and name of an OpenLineage dataset, as DataHub's endpoint does: the platform is the
// namespace's scheme, and host, port and path of the namespace are no part of the name but for file systems.
func locate(namespace, name string) (platform, located string) {
	scheme, rest, ok := strings.Cut(namespace, "://")
	if !ok {
		if isGlue(namespace) {
			return "glue", dotted(name)
		}
		return aliases(namespace), name
	}
	platform, isPath := fileSystems(scheme)
	if !isPath {
		return aliases(scheme), name
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && platform != "abs" {
		rest = rest[at+1:] // a user; of Azure's stores it is the container
	}
	path := rest + name
	if !strings.HasSuffix(rest, "/") && !strings.HasPrefix(name, "/") {
		path = rest + "/" + name
	}
	path = strings.TrimRight(path, "/")
	if platform != "file" {
		path = strings.TrimPrefix(path, "/")
	}
	return platform, cmp.Or(path, name)
}
