// The words of dialect.h for a host compiler: each meeting point hands over to another fiber.
#pragma once
