// RUN: tierup-opt %s --split-input-file --tierup-materialize-boundary --verify-diagnostics

// expected-error@below {{'func.func' op has 1 results but tierup.result_kinds lists 2}}
func.func @too_many_kinds(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tierup.result_kinds = ["buffer", "scalar"]} {
  return %x : tensor<4xf32>
}

// -----
// expected-error@below {{has a result of kind 'fresh'; there are buffer, allocated and scalar}}
func.func @unknown_kind(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tierup.result_kinds = ["fresh"]} {
  return %x : tensor<4xf32>
}

// -----
// expected-error@below {{has result 1 of type tensor<4xf32>, which can't be of kind 'scalar'}}
func.func @tensor_as_a_number(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {tierup.result_kinds = ["buffer", "scalar"]} {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----
// expected-error@below {{has result 0 of type i64, which can't be of kind 'buffer'}}
func.func @number_as_a_buffer(%n: i64, %x: tensor<4xf32>) -> i64 attributes {tierup.result_kinds = ["buffer"]} {
  return %n : i64
}

// -----
// expected-error@below {{needs structured control flow: one block that ends in func.return}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tierup.result_kinds = ["buffer"]} {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}
