"""All small models, by what sets their layers apart."""

from dense_families import DENSE_FAMILIES
from expert_families import EXPERT_FAMILIES
from latent_families import LATENT_FAMILIES
from norm_families import NORM_FAMILIES

FAMILIES = DENSE_FAMILIES + EXPERT_FAMILIES + LATENT_FAMILIES + NORM_FAMILIES
