package openlineage

// JobTypeJobFacet says what sort of job it is. Marquez and Datadog demand all three fields.
type JobTypeJobFacet struct {
	ProcessingType string `json:"processingType"` // BATCH, STREAMING or SERVICE
	Integration    string `json:"integration"`    // PREFECT
	JobType        string `json:"jobType,omitempty"`
}

// DocumentationJobFacet describes a job.
type DocumentationJobFacet struct {
	Description string `json:"description"`
	ContentType string `json:"contentType,omitempty"` // such as text/markdown
}

// SourceCodeLocationJobFacet says where a job's code is kept.
type SourceCodeLocationJobFacet struct {
	Type              string `json:"type"` // such as git
	URL               string `json:"url"`  // a URI, without credentials
	RepoURL           string `json:"repoUrl,omitempty"`
	Path              string `json:"path,omitempty"`
	Version           string `json:"version,omitempty"`
	Tag               string `json:"tag,omitempty"`
	Branch            string `json:"branch,omitempty"`
	PullRequestNumber string `json:"pullRequestNumber,omitempty"`
}

// TagsJobFacet holds a job's tags.
type TagsJobFacet struct {
	Tags []Tag `json:"tags"`
}

// Owner is someone who answers for a job or a dataset.
type Owner struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// OwnershipJobFacet holds a job's owners.
type OwnershipJobFacet struct {
	Owners []Owner `json:"owners"`
}
