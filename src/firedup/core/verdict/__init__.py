"""Facts from log, processes and answers → stages, first fault and the verdict they add up to."""
