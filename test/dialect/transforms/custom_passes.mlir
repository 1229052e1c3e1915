// RUN: tierup-opt %s --tierup-custom-passes | FileCheck %s
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --tierup-custom-passes="when=pre-fusion" | FileCheck %s --check-prefix=LOADED
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --tierup-custom-passes="when=pre-fusion" --tierup-custom-passes="when=pre-fusion" | FileCheck %s --check-prefix=LOADED
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --tierup-custom-passes | FileCheck %s
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --rename-functions="to=h" | FileCheck %s --check-prefix=ALONE
// RUN: not tierup-opt %s --tierup-custom-passes="when=now" 2>&1 | FileCheck %s --check-prefix=WHEN
// RUN: not tierup-opt %s --load-passes=%S/Inputs/raising_pass.py --tierup-custom-passes 2>&1 | FileCheck %s --check-prefix=RAISES
// WHEN: option 'when' of pass 'tierup-custom-passes' is one of pre-fusion, post-fusion, not now
// RAISES: error: {{.*}}raising (post-fusion) raised KeyError
// RAISES: note: traceback
// RAISES-NEXT: raising_pass.py

// Nothing is registered, or nothing for this place: nothing happens.
// CHECK: func.func @f()
// LOADED: func.func @g()
// ALONE: func.func @h()
module {
  func.func @f() {
    return
  }
}
