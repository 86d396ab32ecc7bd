package datahub

// MaxTold is how many facts are remembered.
const MaxTold = maxTold
