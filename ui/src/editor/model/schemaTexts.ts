import { plural } from "@/plural";

/** What a plugin's schema wants of a parameter, by its keyword. */
export const schemaTexts = {
  type: (wants: string) => `Wrong type: it must be ${wants}.`,
  enum: (all: string) => `One of ${all}.`,
  const: (value: string) => `It has to be ${value}.`,
  minimum: (least: string) => `At least ${least}.`,
  maximum: (most: string) => `At most ${most}.`,
  exclusiveMinimum: (than: string) => `More than ${than}.`,
  exclusiveMaximum: (than: string) => `Less than ${than}.`,
  multipleOf: (of: string) => `A multiple of ${of}.`,
  minLength: (least: string) => `At least ${plural(Number(least), "letter")}.`,
  maxLength: (most: string) => `At most ${plural(Number(most), "letter")}.`,
  pattern: (pattern: string) => `It does not match ${pattern}.`,
  format: (format: string) => `It has to be of the form ${format}.`,
  minItems: (least: string) => `At least ${plural(Number(least), "entry", "entries")}.`,
  maxItems: (most: string) => `At most ${plural(Number(most), "entry", "entries")}.`,
  uniqueItems: () => "Each only once.",
  minProperties: (least: string) => `At least ${plural(Number(least), "entry", "entries")}.`,
  maxProperties: (most: string) => `At most ${plural(Number(most), "entry", "entries")}.`,
  required: () => "Required, and empty.",
  dependentRequired: () => "Required together with the other values.",
  anyOf: () => "It must be one of the forms that the plugin accepts.",
  oneOf: () => "It must be exactly one of the forms that the plugin accepts.",
  not: () => "The plugin does not accept this.",
  false: () => "The plugin has no parameter with this name.",
};
